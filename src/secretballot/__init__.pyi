"""Public names of the top level, which `__init__.py` reads here: packages, and common names."""

from secretballot import accounting as accounting
from secretballot import costs as costs
from secretballot import datasets as datasets
from secretballot import ensemble as ensemble
from secretballot import inspection as inspection
from secretballot import linear as linear
from secretballot import measures as measures
from secretballot import mechanisms as mechanisms
from secretballot import parties as parties
from secretballot import quantification as quantification
from secretballot import tables as tables
from secretballot import testing as testing
from secretballot.accounting import BudgetExceededError as BudgetExceededError
from secretballot.accounting import LedgerError as LedgerError
from secretballot.accounting import PrivacyAccountant as PrivacyAccountant
from secretballot.datasets import load_adult as load_adult
from secretballot.ensemble import PrivateLabels as PrivateLabels
from secretballot.ensemble import PrivateTeacherEnsemble as PrivateTeacherEnsemble
from secretballot.ensemble import PublicData as PublicData
from secretballot.ensemble import Upsampling as Upsampling
from secretballot.ensemble import Vanishing as Vanishing
from secretballot.ensemble import Weighting as Weighting
from secretballot.ensemble import recommend_teachers as recommend_teachers
from secretballot.linear import PrivateLinearRegression as PrivateLinearRegression
from secretballot.linear import PrivateLogisticRegression as PrivateLogisticRegression
from secretballot.measures import private_top_k as private_top_k
from secretballot.measures import score_private as score_private
from secretballot.mechanisms import BinaryVoting as BinaryVoting
from secretballot.mechanisms import ConfidentGNMax as ConfidentGNMax
from secretballot.mechanisms import GNMax as GNMax
from secretballot.mechanisms import SkellamMax as SkellamMax
from secretballot.mechanisms import TauVoting as TauVoting
from secretballot.quantification import LabelProportionsClassifier as LabelProportionsClassifier
from secretballot.quantification import MMDClassRatioEstimator as MMDClassRatioEstimator
from secretballot.quantification import publish_proportions as publish_proportions

__version__: str
