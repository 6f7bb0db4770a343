"""Public names of the top level, and where each lives: `__init__.py` reads them here."""

from secretballot import accounting as accounting
from secretballot import audit as audit
from secretballot import checks as checks
from secretballot import datasets as datasets
from secretballot import ensemble as ensemble
from secretballot import inspection as inspection
from secretballot import mechanisms as mechanisms
from secretballot import publication as publication
from secretballot import quantification as quantification
from secretballot import selection as selection
from secretballot.accounting import BudgetExceededError as BudgetExceededError
from secretballot.accounting import LedgerError as LedgerError
from secretballot.accounting import PrivacyAccountant as PrivacyAccountant
from secretballot.accounting import PrivacyLeakWarning as PrivacyLeakWarning
from secretballot.accounting import PrivacyRemaining as PrivacyRemaining
from secretballot.accounting import PrivacySpent as PrivacySpent
from secretballot.accounting import PrivacyStatement as PrivacyStatement
from secretballot.accounting import RenyiCost as RenyiCost
from secretballot.accounting import calibrate as calibrate
from secretballot.datasets import load_adult as load_adult
from secretballot.ensemble import PrivateLabels as PrivateLabels
from secretballot.ensemble import PrivateTeacherEnsemble as PrivateTeacherEnsemble
from secretballot.ensemble import PublicData as PublicData
from secretballot.ensemble import Upsampling as Upsampling
from secretballot.ensemble import Vanishing as Vanishing
from secretballot.ensemble import Weighting as Weighting
from secretballot.ensemble import recommend_mechanism as recommend_mechanism
from secretballot.mechanisms import BestOfCounts as BestOfCounts
from secretballot.mechanisms import BinaryVoting as BinaryVoting
from secretballot.mechanisms import ConfidentGNMax as ConfidentGNMax
from secretballot.mechanisms import DirichletProportions as DirichletProportions
from secretballot.mechanisms import GaussianProportions as GaussianProportions
from secretballot.mechanisms import GNMax as GNMax
from secretballot.mechanisms import LaplacePriorProportions as LaplacePriorProportions
from secretballot.mechanisms import LaplaceProportions as LaplaceProportions
from secretballot.mechanisms import NoisyCounts as NoisyCounts
from secretballot.mechanisms import PowersetVoting as PowersetVoting
from secretballot.mechanisms import StableTopK as StableTopK
from secretballot.mechanisms import TauVoting as TauVoting
from secretballot.quantification import MMDClassRatioEstimator as MMDClassRatioEstimator
from secretballot.quantification import PerBag as PerBag
from secretballot.quantification import SoftmaxClassRatioEstimator as SoftmaxClassRatioEstimator
from secretballot.quantification import publish_proportions as publish_proportions
from secretballot.selection import private_top_k as private_top_k

__version__: str
