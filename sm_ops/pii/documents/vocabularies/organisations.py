"""Companies, clinics, schools and banks that exist nowhere; they are context, not PII."""

from __future__ import annotations

from sm_ops.pii.documents.listed import listed
from sm_ops.pii.documents.vocabularies.places import MARKS

_TRADES = listed(
    """
    물산 전자 상사 테크 식품 건설 물류 화학 무역 제약 바이오 소프트 시스템 네트웍스 디자인 미디어 정밀 금속 섬유
    에너지 유통 산업 엔지니어링 인쇄 가구
    """
)
_CLINICS = listed(
    """
    내과의원 정형외과 치과의원 소아과의원 한의원 안과의원 피부과 이비인후과 산부인과 재활의학과 종합병원 요양병원
    """
)
_SCHOOLS = listed(
    """
    초등학교 중학교 고등학교 대학교 유치원 어린이집 여자고등학교 공업고등학교
    """
)
_TRADES_EN = listed(
    """
    Trading Logistics Foods Systems Textiles Pharma Partners Insurance Robotics Media Furniture Energy Studios
    Freight Consulting Optics Marine Labs
    """
)
_MARKS_EN = listed("Mockford Sampleton Placeholder Fictiva Specimen Exampla")

# Banks are a closed class: the number beside them is what a detector must find.
BANKS = ("가상은행", "견본은행", "예시은행", "모형은행", "허구저축은행", "시험신협", "견본새마을금고", "가상증권")
BANKS_EN = (
    "Gasang Bank",
    "Sample Savings Bank",
    "Mock Credit Union",
    "Yesi Bank",
    "Fictiva Bank",
    "Placeholder Building Society",
)


def companies() -> list[str]:
    """Companies in Korean documents."""
    return [f"{mark}{trade}" for mark in MARKS for trade in _TRADES]


def companies_en() -> list[str]:
    """Companies in English documents."""
    return [f"{mark} {trade}" for mark in _MARKS_EN for trade in _TRADES_EN]


def clinics() -> list[str]:
    """Clinics and hospitals."""
    return [f"{mark}{kind}" for mark in MARKS for kind in _CLINICS]


def schools() -> list[str]:
    """Schools."""
    return [f"{mark}{kind}" for mark in MARKS for kind in _SCHOOLS]
