"""Learns the topics of a collection: clusters of documents, each named by its most telling word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rl_rewriter.errors import MissingExtraError
from rl_rewriter.text.statistics import Topic
from rl_rewriter.text.tokens import index_terms

TERMS_PER_TOPIC = 40
MAX_DOCUMENTS = 20_000
"""Clustering looks at an even sample beyond this number: topics are stable long before."""


def learn_topics(texts: Sequence[str], *, seed: int = 0) -> tuple[Topic, ...]:
    """Cluster documents by TF-IDF (spherical k-means) and name each cluster.

    The number of clusters grows with the square root of the collection, from 2 to 48. A topic's
    word is its heaviest term that isn't already another topic's.

    Args:
        texts: Document texts.
        seed: Seed of the k-means initialisation.

    Returns:
        Topics, empty where the collection has fewer than four documents or no usable term.

    Raises:
        MissingExtraError: scikit-learn isn't installed.
    """
    try:
        from sklearn.cluster import MiniBatchKMeans
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError("scikit-learn", "train") from error

    if len(texts) < 4:
        return ()
    sample = texts[:: max(1, len(texts) // MAX_DOCUMENTS)]
    vectorizer = TfidfVectorizer(
        analyzer=index_terms, min_df=2, max_df=0.5, max_features=20_000, sublinear_tf=True
    )
    try:
        weights = vectorizer.fit_transform(sample)
    except ValueError:  # no term is in two documents
        return ()
    n_clusters = int(np.clip(np.sqrt(len(sample)), 2, 48))
    clusters = MiniBatchKMeans(n_clusters, random_state=seed, n_init=3, batch_size=1024).fit(
        weights
    )
    terms = vectorizer.get_feature_names_out()
    topics: list[Topic] = []
    for centre in clusters.cluster_centers_:
        order = np.argsort(-centre, kind="stable")[:TERMS_PER_TOPIC]
        term_weights = {str(terms[i]): round(float(centre[i]), 4) for i in order if centre[i] > 0}
        taken = {topic.word for topic in topics}
        word = next((term for term in term_weights if term not in taken), None)
        if word is not None:
            topics.append(Topic(word, term_weights))
    return tuple(topics)
