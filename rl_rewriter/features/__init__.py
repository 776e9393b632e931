"""What the policy sees of a query: named columns, standardised."""

from rl_rewriter.features.base import FeatureExtractor
from rl_rewriter.features.feature_set import FeatureSet, default_features

__all__ = ["FeatureExtractor", "FeatureSet", "default_features"]
