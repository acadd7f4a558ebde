"""JSON documents of the laboratory verbs, for their published schemas."""

import msgspec
from msgspec import UNSET, UnsetType

from stretto_lab.bench.kube.bench import SchedulerResult
from stretto_lab.chaos.fleets.campaign import FleetCampaign
from stretto_lab.chaos.report import Campaign
from stretto_lab.chaos.seeds import SeedOutcome
from stretto_lab.chaos.trace import ChaosFailure
from stretto_lab.studies.forecast import ForecastPoint, ForecastReport
from stretto_lab.studies.offers.designs import DesignPoint
from stretto_lab.studies.offers.differences import DifferenceFigure
from stretto_lab.studies.offers.questions import QuestionFigure
from stretto_lab.studies.omega.shards import ShardPoint, ShardStudy
from stretto_lab.studies.omega.sweep import OmegaPoint, OmegaStudy
from stretto_lab.studies.reclaim.sweep import ReclaimPoint, ReclaimStudy


class KubeCurve(msgspec.Struct, frozen=True):
    """Numbers of created and bound pods over time."""

    #: Seconds since the first pod.
    t: list[float]
    #: Pods created.
    created: list[int]
    #: Pods bound.
    scheduled: list[int]


class KubeSide(SchedulerResult, frozen=True):
    """Results of one scheduler with one workload; medians over the rounds."""

    #: Pods over time in the last round.
    curve: KubeCurve  # type: ignore[assignment]


class KubeWorkloadDocument(
    msgspec.Struct,
    frozen=True,
    rename={
        "stretto_without_events": "stretto-without-events",
        "kube_scheduler": "kube-scheduler",
    },
):
    """One workload of ``stretto bench kube``; the document has one member for each workload."""

    #: Nodes.
    nodes: int
    #: Numbers of pods: ``running``, ``pods`` (throughput pass) and ``steady`` (latency pass).
    pods: dict[str, int]
    #: Results of Stretto.
    stretto: KubeSide
    #: Results of Stretto without ``Scheduled`` events.
    stretto_without_events: KubeSide | None
    #: Results of kube-scheduler.
    kube_scheduler: KubeSide | None
    #: Pods per second of the raw replay.
    api_ceiling_per_s: float | None
    #: Pods per second of the replay in each round.
    ceiling_rounds_per_s: list[float | None]
    #: Rate of Stretto divided by that of kube-scheduler.
    ratio: float | None
    #: Rate of Stretto divided by the ceiling.
    share_of_ceiling: float | None
    #: Rejected writes of the replay, in all rounds.
    replay_failed: int


class FailingSeed(msgspec.Struct, frozen=True):
    """A seed that violates a law."""

    #: The seed.
    seed: int
    #: Breaches: ``law N: message``.
    breaches: list[str]
    #: The command that reproduces it.
    replay: str


class ChaosDocument(msgspec.Struct, frozen=True):
    """A campaign of the fault simulator: ``stretto chaos``."""

    #: Options of the campaign.
    options: Campaign
    #: Number of finished seeds.
    seeds: int
    #: Number of steps, including those of the heals.
    steps: int
    #: Virtual seconds.
    virtual_s: float
    #: Wall-clock seconds.
    took_s: float
    #: Confirmed binds.
    bound: int
    #: Faults by kind, including crashes by failpoint.
    faults: dict[str, int]
    #: Checks by law.
    checked: dict[str, int]
    #: The seeds that violate a law.
    failing: list[FailingSeed]
    #: The first failures, shrunk.
    failures: list[ChaosFailure]
    #: Hash over the traces of all seeds.
    trace: str
    #: True if the campaign was interrupted; absent if it was not.
    partial: bool | UnsetType = UNSET


class ChaosReplayDocument(msgspec.Struct, frozen=True):
    """Result of a replayed failure: ``stretto chaos --replay``."""

    #: The seed.
    seed: int
    #: Hash of the whole run.
    trace: str
    #: Breaches: ``law N: message``.
    breaches: list[str]


class OfferChaosDocument(msgspec.Struct, frozen=True):
    """Seeds of the fault simulator of offers: ``stretto chaos --offers``."""

    #: The seeds.
    seeds: list[SeedOutcome]


class FleetChaosDocument(msgspec.Struct, frozen=True):
    """Seeds of the fault simulator of fleets: ``stretto chaos --fleets``."""

    #: The first seed.
    first: int
    #: Steps of each seed before the heal.
    steps_of_a_seed: int
    #: The sum over the seeds.
    campaign: FleetCampaign


class OmegaDocument(msgspec.Struct, frozen=True):
    """Conflict curves: ``stretto study omega``."""

    #: Options of the study.
    study: OmegaStudy
    #: The runs.
    points: list[OmegaPoint]
    #: True if the study was interrupted; absent if it was not.
    partial: bool | UnsetType = UNSET


class ShardStudyDocument(msgspec.Struct, frozen=True):
    """Shards with a decision time: ``stretto study shards``."""

    #: Options of the study.
    study: ShardStudy
    #: The runs.
    points: list[ShardPoint]
    #: True if the study was interrupted; absent if it was not.
    partial: bool | UnsetType = UNSET


class ReclaimDocument(msgspec.Struct, frozen=True):
    """Estimators of reclaimed capacity: ``stretto study reclaim``."""

    #: Options of the study.
    study: ReclaimStudy
    #: Source of the measured use.
    source: str
    #: The runs.
    points: list[ReclaimPoint]
    #: True if the study was interrupted; absent if it was not.
    partial: bool | UnsetType = UNSET


class ForecastEntry(ForecastReport, frozen=True, kw_only=True):
    """The forecasts of one queue policy with one source of run times."""

    #: The forecast jobs.
    points: list[ForecastPoint]


class ForecastDocument(msgspec.Struct, frozen=True):
    """Forecasts compared with actual starts: ``stretto study forecast``."""

    #: One entry for each queue policy and source of run times.
    reports: list[ForecastEntry]


class FiveQuestionsDocument(msgspec.Struct, frozen=True):
    """Five questions about offers: ``stretto study five-questions``."""

    #: Settings of the allocator.
    profile: str
    #: The answers by the number of the question.
    answers: dict[str, str]
    #: The figures of all sizes.
    figures: list[QuestionFigure]
    #: True if the study was interrupted; absent if it was not.
    partial: bool | UnsetType = UNSET


class OfferDesignDocument(msgspec.Struct, frozen=True):
    """Offers compared with other designs: ``stretto study offers``."""

    #: The runs.
    points: list[DesignPoint]
    #: Each difference from Mesos, measured alone.
    differences: list[DifferenceFigure]
    #: True if the study was interrupted; absent if it was not.
    partial: bool | UnsetType = UNSET
