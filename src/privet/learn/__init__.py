"""Learners with scikit-learn's interface, as rounds of noisy sums through the gate. Needs `privet[learn]`."""

from importlib.util import find_spec

from privet.errors import InvalidInputError

if find_spec("sklearn") is None:
    raise InvalidInputError(
        "learning needs scikit-learn, which is not installed", 'run `pip install "privet[learn]"`', "missing-extra"
    )

from privet.learn.card import ModelCard
from privet.learn.categorical_bayes import CategoricalNB
from privet.learn.cross_validation import CrossValidation, cross_validate
from privet.learn.gaussian_bayes import GaussianNB
from privet.learn.kmeans import KMeans
from privet.learn.linear import LinearRegression, Ridge
from privet.learn.logistic import LogisticRegression
from privet.learn.mlp import MLPClassifier, MLPRegressor
from privet.learn.model_file import load, save
from privet.learn.pca import PCA
from privet.learn.scaler import StandardScaler

__all__ = [
    "PCA",
    "CategoricalNB",
    "CrossValidation",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "ModelCard",
    "Ridge",
    "StandardScaler",
    "cross_validate",
    "load",
    "save",
]
