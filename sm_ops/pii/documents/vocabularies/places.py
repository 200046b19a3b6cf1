"""Places that exist nowhere: each name carries a syllable pair that marks it as invented (section 2, ADDRESS)."""

from __future__ import annotations

from sm_ops.pii.documents.listed import listed

MARKS = ("가상", "견본", "허구", "예시", "모형", "시험")

# Closed classes: what stands before a district in -구, and before one in -군.
CITIES = (
    "가상특별시",
    "모형광역시",
    "허구광역시",
    "견본도 가상시",
    "견본도 시험시",
    "시험도 허구시",
    "시험도 모형시",
    "가상시",
    "견본시",
)
PROVINCES = ("견본도", "시험도", "모형광역시", "허구광역시")
TOWNSHIPS = tuple(f"{mark}{kind}" for mark in MARKS for kind in ("면", "읍"))

_AROUND = listed("동 서 남 북 중 상 하 신 대 소 새")
_ROADS = listed(
    """
    중앙 공원 시장 강변 산성 호수 은행나무 벚꽃 소나무 느티 역전 학교앞 도서관 샘터 솔밭 달빛 별빛 햇살 무지개 들꽃
    단풍 대숲 강마루 언덕 물레방아 돌담 연꽃 청솔 새싹 한마음 문화 예술 체육관 나루터 고갯마루 온천 항구 등대 해안
    목련 매화 국화 버들 오솔 우물 서당 옛성 장터 산마루 너른들 봄내 가을빛 푸른솔 하늘빛
    """
)
_BUILDINGS = listed(
    """
    빌라 아파트 오피스텔 타워 하이츠 마을 맨션 연립 주택 스퀘어 파크빌 그린빌 리버뷰 힐스 한옥단지 센트럴 에코빌
    레지던스 프라자 원룸
    """
)


def districts() -> list[str]:
    """Districts: 동가상구, 새견본군 ..."""
    return [
        f"{side}{mark}{kind}" for mark in MARKS for side in _AROUND for kind in ("구", "군") if mark + kind != "허구구"
    ]


def roads() -> list[str]:
    """Roads: 시험중앙로, 견본솔밭길 ..."""
    return [
        f"{mark}{word}{'로' if (i + j) % 5 else '대로'}" if (i + j) % 3 else f"{mark}{word}길"
        for i, mark in enumerate(MARKS)
        for j, word in enumerate(_ROADS)
    ]


def neighbourhoods() -> list[str]:
    """Neighbourhoods of lot addresses: 예시윗동, 모형샘골리 ..."""
    heads = listed("윗 아랫 안 샘골 밤골 솔골 배나무골 큰말 새말 달골 둔덕 벌말 못골 숲")
    return [f"{mark}{head}{kind}" for mark in MARKS for head in heads for kind in ("동", "리")]


def buildings() -> list[str]:
    """Buildings: 모형빌라, 견본하이츠 ..."""
    return [f"{mark}{word}" for mark in MARKS for word in _BUILDINGS]
