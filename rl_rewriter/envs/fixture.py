"""The smallest environment there is, in which there is nothing to learn.

Every query already says what its documents say, so keep finds both of them, or what it misses no
other action finds either. A report on it must come out as "nothing to learn", and a trainer must
end at keep.
"""

from __future__ import annotations

from collections.abc import Mapping

from rl_rewriter.actions.keep import Keep
from rl_rewriter.actions.space import ActionSpace
from rl_rewriter.actions.words import Keywords, TopicInFront
from rl_rewriter.envs.environment import JudgedEnvironment
from rl_rewriter.retrieval.tfidf import TfidfRetriever
from rl_rewriter.rewards.metrics import Metric
from rl_rewriter.rewards.reward import RewardConfig
from rl_rewriter.types import Query

_DOCUMENTS: Mapping[str, tuple[str, ...]] = {
    "refund": (
        "退款规则。购买七天内可以申请退款。退款多久到账看原支付方式。",
        "退款进度。申请退款后。在订单页查看退款审核。审核后退款到账。",
    ),
    "shipping": (
        "配送时效。包裹由快递配送。下单后两天内发货。偏远地区配送较慢。",
        "配送查询。用快递单号查询包裹配送到哪里。签收前可以修改配送地址。",
    ),
    "invoice": (
        "发票开具。企业用户填写抬头和税号开具电子发票。发票发到邮箱。",
        "发票修改。发票抬头有误时作废原发票。重新开具发票并换发。",
    ),
}
_TRAIN: Mapping[str, tuple[str, ...]] = {
    "refund": ("如何申请退款", "退款多久到账", "退款审核进度查看"),
    "shipping": ("快递配送要几天", "怎么查询包裹配送", "修改配送地址"),
    "invoice": ("怎么开具电子发票", "发票抬头写错了怎么修改"),
}
_TEST: Mapping[str, tuple[str, ...]] = {
    "refund": ("申请退款的规则是什么",),
    "shipping": ("我的包裹配送到哪里了",),
    "invoice": ("请问企业发票要填税号吗", "报销用的单据怎么要"),
}


def minimal_fixture() -> JudgedEnvironment:
    """Six Chinese documents on three topics, twelve queries, three actions, hits@3.

    Retrieval is TF-IDF over character 1- and 2-grams; both documents of a query's topic are
    relevant to it, so a query scores at most 2.
    """
    documents = {
        f"{topic}-{number}": text
        for topic, texts in _DOCUMENTS.items()
        for number, text in enumerate(texts)
    }
    topics: dict[str, str] = {}
    queries: list[Query] = []
    for split, texts_by_topic in (("train", _TRAIN), ("test", _TEST)):
        for topic, texts in texts_by_topic.items():
            for number, text in enumerate(texts):
                query = Query(text, id=f"{split}-{topic}-{number}")
                queries.append(query)
                topics[query.id] = topic
    return JudgedEnvironment(
        name="fixture",
        retriever=TfidfRetriever(documents, ngram_range=(1, 2)),
        queries=tuple(queries),
        qrels={
            id_: {f"{topic}-{number}": 1.0 for number in range(len(_DOCUMENTS[topic]))}
            for id_, topic in topics.items()
        },
        train_ids=tuple(q.id for q in queries if q.id.startswith("train")),
        test_ids=tuple(q.id for q in queries if q.id.startswith("test")),
        actions=ActionSpace((Keep(), Keywords(), TopicInFront())),
        reward=RewardConfig(metric=Metric("hits", 3), rewrite_cost=0.05),
    )
