"""Where documents are searched: one store, or one after another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rl_rewriter.errors import InputError

if TYPE_CHECKING:
    from rl_rewriter.benchmark.stores import StoreConfig

Embedder = Annotated[
    str | None,
    typer.Option(
        help='sentence-transformers name or path, "minilm" (packaged) or "tfidf" (no model). '
        "By default minilm, and tfidf for Chinese documents."
    ),
]
ChromaPath = Annotated[Path | None, typer.Option(help="Folder of your own persistent Chroma.")]
ChromaHost = Annotated[str | None, typer.Option(help="HOST:PORT of your own Chroma server.")]
Collection = Annotated[str | None, typer.Option(help="Name of your own Chroma collection.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for embeddings and indexes that are kept.")
]
_OWN_RETRIEVER = (
    "MODULE:OBJECT of a retriever of your own: LangChain's, LlamaIndex's, or a function "
    "(texts, k) that gives (id, score) pairs for each text"
)


@dataclass(frozen=True)
class StoreOptions:
    """Where documents are searched."""

    store: Annotated[
        str, typer.Option(help='What holds the documents; "chroma" (embedded) so far.')
    ] = "chroma"
    store_dir: Annotated[
        Path, typer.Option(help="Folder of the embedded collection that is built.")
    ] = Path("runs/chroma")
    base: Annotated[str, typer.Option(help="Retriever: chroma, bm25, tfidf or hybrid.")] = "chroma"
    embedder: Embedder = None
    chroma_path: ChromaPath = None
    chroma_host: ChromaHost = None
    collection: Collection = None
    retriever: Annotated[str | None, typer.Option(help=f"{_OWN_RETRIEVER}.")] = None
    cache: Cache = None

    def config(self) -> StoreConfig:
        """The library's settings.

        Raises:
            InputError: The store is unknown, or the settings mean nothing together.
        """
        from rl_rewriter.benchmark.stores import StoreConfig

        if self.store != "chroma":
            raise InputError(f'unknown store {self.store!r}; this version has "chroma"')
        return StoreConfig(
            base=self.base,
            embedder=self.embedder,
            folder=self.store_dir,
            chroma_path=self.chroma_path,
            chroma_host=self.chroma_host,
            collection=self.collection,
            retriever=self.retriever,
            cache_dir=self.cache,
        )


@dataclass(frozen=True)
class SearchOptions:
    """What collections are searched by, one after another."""

    base: Annotated[
        list[str] | None,
        typer.Option(
            help="Retriever: chroma, bm25, tfidf or hybrid; repeat it for several. By default "
            "chroma, where no retriever of your own is named."
        ),
    ] = None
    retriever: Annotated[
        list[str] | None, typer.Option(help=f"{_OWN_RETRIEVER}; repeat it for several.")
    ] = None
    embedder: Embedder = None
    chroma_path: ChromaPath = None
    chroma_host: ChromaHost = None
    collection: Collection = None
    cache: Cache = None

    def configs(self) -> tuple[StoreConfig, ...]:
        """The library's settings, one for each retriever.

        Raises:
            InputError: The settings mean nothing together.
        """
        from rl_rewriter.benchmark.stores import StoreConfig

        bases = list(dict.fromkeys(self.base or ([] if self.retriever else ["chroma"])))
        own = list(dict.fromkeys(self.retriever or []))
        chosen = [*((base, None) for base in bases), *(("chroma", spec) for spec in own)]
        return tuple(
            StoreConfig(
                base=base,
                embedder=self.embedder,
                chroma_path=self.chroma_path,
                chroma_host=self.chroma_host,
                collection=self.collection,
                retriever=spec,
                cache_dir=self.cache,
            )
            for base, spec in chosen
        )
