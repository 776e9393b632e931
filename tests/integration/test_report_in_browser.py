"""The HTML report in a real browser: charts, search, sorting, themes, and data that attack it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from rl_rewriter.benchmark.report.page import write_report
from tests.run_folders import ACTIONS, Made, write_run_folder

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no chromium and chromedriver; on Debian: apt-get install chromium chromium-driver",
)
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-extensions", "--window-size=1280,900"),
)
N = 60
ARMS = len(ACTIONS) + 4
CHARTS = 9
ATTACK = (
    "<b>x</b><script>window.ran=1</script><img src=x onerror=\"window.ran=1\">"
    "<a href='javascript:window.ran=1'>&lt;i&gt;</a>"
)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    home = tmp_path_factory.mktemp("browser")
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={home / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options, Service(str(DRIVER), env={**os.environ, "HOME": str(home)}))
    driver.get("about:blank")
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {
        "plain": [Made(n=N)],
        "several": [Made(n=N), Made(n=N, name="finance", retriever="bm25", skill=-0.7, kinds=())],
        "hostile": [Made(n=N, hostile=ATTACK)],
    }
    folder = tmp_path_factory.mktemp("pages")
    return {name: write_report(write_run_folder(folder / name, made[name])) for name in made}


Open = Callable[..., Chrome]


@pytest.fixture
def opened(browser: Chrome, pages: dict[str, Path]) -> Open:
    """Opens a page anew, as wide as asked, in the scheme that the system prefers."""

    def run(name: str, *, width: int = 1280, scheme: str = "light") -> Chrome:
        screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {
                "name": "prefers-reduced-motion",
                "value": "reduce",
            },  # clicks don't wait for scrolling
        ]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get("about:blank")
        for name_of_log in ("browser", "performance"):
            log(browser, name_of_log)  # what was before is no matter of this page
        browser.get(pages[name].as_uri())
        browser.execute_script("localStorage.clear()")
        return browser

    return run


def js(page: Chrome, code: str, *arguments: Any) -> Any:
    return page.execute_script(code, *arguments)


def log(page: Chrome, name: str) -> list[dict[str, Any]]:
    """What the browser wrote since it was last asked."""
    entries: list[dict[str, Any]] = page.get_log(name)  # type: ignore[no-untyped-call]
    return entries


def drawn(page: Chrome, selector: str = ".plot") -> list[WebElement]:
    """Charts, each scrolled to and waited for."""
    found = page.find_elements(By.CSS_SELECTOR, selector)
    for chart in found:
        js(page, "arguments[0].scrollIntoView({behavior: 'instant', block: 'center'})", chart)
        wait(partial(chart.find_elements, By.CSS_SELECTOR, ".main-svg"))
    return found


def wait(ready: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def column(page: Chrome, number: int, table: str = "#query-table") -> list[str]:
    cells: list[str] = js(
        page,
        "return Array.from(document.querySelectorAll(arguments[0]), c => c.textContent.trim())",
        f"{table} > tbody > tr:not(.details) > :nth-child({number})",
    )
    return cells


def numbers(texts: list[str]) -> list[float]:
    return [float(text.replace("−", "-")) for text in texts]


def type_in(page: Chrome, text: str) -> str:
    """Searches, and gives the line that counts what is found."""
    box = page.find_element(By.ID, "query-search")
    box.send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.DELETE, text)
    return page.find_element(By.ID, "query-count").text


@pytest.mark.parametrize("name", ["plain", "several", "hostile"])
def test_a_page_draws_its_charts_without_errors_or_requests(opened: Open, name: str) -> None:
    page = opened(name)
    assert len(drawn(page)) == CHARTS * (2 if name == "several" else 1)
    assert page.find_elements(By.CSS_SELECTOR, ".left-out") == []
    assert log(page, "browser") == []
    events = [json.loads(entry["message"])["message"] for entry in log(page, "performance")]
    requested = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert page.current_url in requested
    assert [u for u in requested if u != page.current_url and not u.startswith("data:")] == []


def test_charts_show_what_they_are_about(opened: Open) -> None:
    page = opened("plain")
    drawn(page)

    def count(chart: str, marks: str) -> int:
        return len(page.find_elements(By.CSS_SELECTOR, f"#chart-0-{chart} {marks}"))

    assert count("values", ".barlayer .point path") == ARMS
    assert count("values", ".errorbar") == ARMS
    assert count("differences", ".scatterlayer path.point") == ARMS - 1  # all but keep
    assert count("differences", ".errorbar") == ARMS - 1
    assert count("calibration", "path.point") == 10
    assert count("frontier", "path.point") == ARMS - 1  # all but hindsight
    assert count("shares", ".barlayer .trace") == count("shares", ".barlayer .trace:has(path)") > 2
    assert count("gains", ".scatterlayer .js-fill") in (2, 3)
    assert count("reward", ".scatterlayer .js-line") == 5 * 3 + 1  # folds, seeds, their mean
    labels = page.find_element(By.CSS_SELECTOR, "#chart-0-values .yaxislayer-above").text
    assert {"policy", "keywords", "per-query best (hindsight)"} <= set(labels.split("\n"))


def test_the_search_narrows_the_list(opened: Open) -> None:
    page = opened("plain")
    assert page.find_element(By.ID, "query-count").text == f"{N} of {N} queries"
    assert len(column(page, 2)) == 25
    assert page.find_element(By.ID, "query-page").text == "1–25"

    found = int(type_in(page, "RETURN gift").split()[0])
    queries = column(page, 2)
    assert 0 < len(queries) == found < N
    assert all("return" in query and "gift" in query for query in queries)

    assert type_in(page, "typos").split()[0] == str(len(column(page, 2)))
    assert set(column(page, 3)) == {"typos"}
    assert type_in(page, "no such words") == f"0 of {N} queries"
    assert page.find_element(By.ID, "query-page").text == "none"
    assert type_in(page, "") == f"{N} of {N} queries"


def test_filters_and_pages(opened: Open) -> None:
    page = opened("plain")
    page.find_element(By.ID, "query-next").click()
    assert page.find_element(By.ID, "query-page").text == "26–50"
    Select(page.find_element(By.ID, "query-outcome")).select_by_visible_text("hurt")
    assert page.find_element(By.ID, "query-page").text.startswith("1–")
    assert max(numbers(column(page, 1))) < 0
    Select(page.find_element(By.ID, "query-outcome")).select_by_visible_text("any")
    Select(page.find_element(By.ID, "query-action")).select_by_visible_text("keywords")
    assert set(column(page, 4)) == {"keywords"}
    assert not page.find_element(By.ID, "query-collection").is_displayed()


def test_several_collections_share_one_list(opened: Open) -> None:
    page = opened("several")
    assert page.find_element(By.ID, "query-count").text == f"{2 * N} of {2 * N} queries"
    chosen = Select(page.find_element(By.ID, "query-collection"))
    chosen.select_by_visible_text("finance · bm25")
    assert page.find_element(By.ID, "query-count").text == f"{N} of {2 * N} queries"
    assert set(column(page, 3)) == {"finance · bm25"}
    assert set(column(page, 4)) == {""}  # this one has no kinds


def test_queries_are_sorted_by_gain_and_by_any_other_column(opened: Open) -> None:
    page = opened("plain")
    first, second = page.find_elements(By.CSS_SELECTOR, "#query-table th")[:2]
    gains = numbers(column(page, 1))
    assert gains == sorted(gains, reverse=True)
    assert first.get_attribute("aria-sort") == "descending"
    first.find_element(By.TAG_NAME, "button").click()
    gains = numbers(column(page, 1))
    assert gains == sorted(gains)
    assert gains[0] < 0
    second.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)  # keys do it too
    queries = column(page, 2)
    assert queries == sorted(queries)
    assert second.get_attribute("aria-sort") == "ascending"
    assert first.get_attribute("aria-sort") is None


def test_other_tables_are_sorted_by_their_headings(opened: Open) -> None:
    page = opened("plain")
    table = "table.sortable"
    before = column(page, 1, table)
    headings = page.find_elements(By.CSS_SELECTOR, f"{table} thead")[0]
    [value] = [h for h in headings.find_elements(By.TAG_NAME, "th") if "Mean" in h.text]
    value.find_element(By.TAG_NAME, "button").click()
    assert value.get_attribute("aria-sort") == "descending"
    value.find_element(By.TAG_NAME, "button").click()
    assert value.get_attribute("aria-sort") == "ascending"
    after = column(page, 1, table)
    assert set(after) == set(before)
    assert after[:ARMS].index("per-query best (hindsight)") == ARMS - 1


def test_a_query_opens_to_what_was_sent_for_it(opened: Open) -> None:
    page = opened("plain")
    button = page.find_element(By.CSS_SELECTOR, "#query-table .open")
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    opened_row = page.find_element(By.CSS_SELECTOR, "tr.details").text
    assert "First text sent" in opened_row
    assert "Searches" in opened_row
    button.click()
    assert page.find_elements(By.CSS_SELECTOR, "tr.details") == []


def test_data_stay_text_and_run_nothing(opened: Open) -> None:
    page = opened("hostile")
    charts = drawn(page)
    js(page, "document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.find_element(By.CSS_SELECTOR, "#query-table .open").click()
    assert type_in(page, "onerror").startswith(f"{N} of")
    assert js(page, "return window.ran") is None
    inside = "main script, main img, main b, main i, main iframe, main [onerror]"
    assert page.find_elements(By.CSS_SELECTOR, inside) == []
    assert js(page, "return document.querySelectorAll('a[href^=javascript]').length") == 0
    for selector in ("h2", ".example summary", ".turns", ".document-head", "tr.details", "option"):
        texts = [
            e.get_attribute("textContent") for e in page.find_elements(By.CSS_SELECTOR, selector)
        ]
        assert any(ATTACK in (text or "") for text in texts), selector
    assert all(ATTACK in text for text in column(page, 2))
    ticks = page.find_elements(By.CSS_SELECTOR, "#chart-0-values .yaxislayer-above text")
    assert any(t.text.startswith("keywords<b>x</b><script>") for t in ticks)
    assert all("<script>" not in (c.get_attribute("innerHTML") or "") for c in charts)


def test_what_appears_over_a_chart_is_text_too(opened: Open) -> None:
    page = opened("hostile")
    [chart] = drawn(page, "#chart-0-shares")
    js(page, "Plotly.Fx.hover(arguments[0], [{curveNumber: 1, pointNumber: 1}])", chart)
    wait(lambda: chart.find_elements(By.CSS_SELECTOR, ".hoverlayer text"))
    shown = chart.find_element(By.CSS_SELECTOR, ".hoverlayer").text
    assert "<b>x</b><script>window.ran=1</script>" in shown
    assert js(page, "return window.ran") is None


def test_the_browser_itself_refuses_code_and_requests(opened: Open) -> None:
    page = opened("plain")
    js(
        page,
        """
        window.refused = [];
        document.addEventListener("securitypolicyviolation", e => {
          window.refused.push(e.effectiveDirective);
        });
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran=1'>");
        const script = document.createElement("script");
        script.textContent = "window.ran=1";
        document.body.append(script);
        fetch("https://example.org").catch(() => {});
        """,
    )
    expected = {"img-src", "script-src-elem", "script-src-attr", "connect-src"}
    wait(lambda: set(js(page, "return window.refused")) >= expected)
    assert js(page, "return window.ran") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(opened: Open, scheme: str) -> None:
    page = opened("plain", scheme=scheme)
    drawn(page, "#chart-0-values")

    def brightness() -> tuple[float, float]:
        """Of the page's ground and of the text in a chart."""
        colours = js(
            page,
            """
            const text = document.querySelector("#chart-0-values .ytick text");
            return [getComputedStyle(document.body).backgroundColor, getComputedStyle(text).fill];
            """,
        )
        ground, ink = (
            sum(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]) / 765
            for colour in colours
        )
        return ground, ink

    ground, ink = brightness()
    assert (ground < 0.2 < 0.8 < ink) if scheme == "dark" else (ink < 0.2 < 0.8 < ground)
    page.find_element(By.ID, "theme").click()
    wait(lambda: (brightness()[1] > 0.5) != (ink > 0.5))
    assert (brightness()[0] > 0.5) != (ground > 0.5)
    page.refresh()
    assert (brightness_of_ground(page) > 0.5) != (ground > 0.5)  # the choice is remembered


def brightness_of_ground(page: Chrome) -> float:
    colour: str = js(page, "return getComputedStyle(document.body).backgroundColor")
    return sum(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]) / 765


@pytest.mark.parametrize("name", ["several", "hostile"])
def test_a_phone_shows_the_page_without_scrolling_sideways(opened: Open, name: str) -> None:
    page = opened(name, width=390)
    drawn(page)
    js(page, "document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.find_element(By.CSS_SELECTOR, "#query-table .open").click()
    assert js(page, "return document.documentElement.scrollWidth") <= 390
    wide = js(
        page,
        """
        return Array.from(document.querySelectorAll("main *"))
          .filter(e => !e.closest(".scroll") && !e.closest("svg"))
          .filter(e => e.getBoundingClientRect().right > 391)
          .map(e => e.tagName + "." + e.className);
        """,
    )
    assert wide == []
    inside = js(page, "return document.querySelector('.scroll').scrollWidth")
    assert inside > 390  # wide tables scroll in their own box


def test_printing_draws_every_chart_and_opens_every_example(opened: Open) -> None:
    page = opened("plain", scheme="dark")
    js(page, "window.dispatchEvent(new Event('beforeprint'))")
    charts = page.find_elements(By.CSS_SELECTOR, ".plot")
    wait(lambda: all(c.find_elements(By.CSS_SELECTOR, ".main-svg") for c in charts))
    assert js(page, "return document.querySelectorAll('details:not([open])').length") == 0
    assert brightness_of_ground(page) > 0.8  # paper is light
    js(page, "window.dispatchEvent(new Event('afterprint'))")
    assert brightness_of_ground(page) < 0.2


def test_every_control_has_a_name_and_every_table_a_caption(opened: Open) -> None:
    page = opened("several")
    nameless = js(
        page,
        """
        return Array.from(document.querySelectorAll("button, input, select, [role=region], nav"))
          .filter(e => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length))
          .map(e => e.outerHTML);
        """,
    )
    assert nameless == []
    assert js(page, "return document.querySelectorAll('table:not(:has(caption))').length") == 0
    assert js(page, "return document.querySelectorAll('.plot:not([aria-label])').length") == 0
