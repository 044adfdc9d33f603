"""How passes are judged: contracts, oracles and the machinery behind them."""

from oracles.check import OracleFailure, check
from oracles.contract import Contract, default_contract
from oracles.contracts import CONTRACTS, contract_for
from oracles.facts import ModuleFacts
from oracles.judge import judge
from oracles.passref import PassRef
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict

__all__ = [
    "CONTRACTS",
    "Contract",
    "Evidence",
    "ModuleFacts",
    "OracleFailure",
    "OracleName",
    "Outcome",
    "PassRef",
    "Subject",
    "Verdict",
    "check",
    "contract_for",
    "default_contract",
    "judge",
]
