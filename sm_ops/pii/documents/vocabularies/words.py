"""Family and relationship words, and the words of e-mail addresses."""

from __future__ import annotations

from sm_ops.pii.documents.listed import listed

# Words of one syllable (모, 부, 처, 딸) are left out: they stand inside too many others. All share these (G5)
RELATIONS_KO = {
    "parent": listed("어머니 아버지 모친 부친 엄마 아빠"),
    "elder": listed("친정어머니 시어머니 시아버지 장모님"),
    "spouse": listed("배우자 남편 아내 집사람 와이프"),
    "child": listed(
        """
    장남 장녀 차남 차녀 큰아들 작은아들 막내아들 큰딸 작은딸 막내딸 외동딸
    """
    ),
    "sibling": listed("언니 오빠 누나 남동생 여동생 막내동생 큰오빠 작은누나 큰언니"),
    "inlaw": listed("사위 며느리 형부 형수님"),
    "kin": listed(
        """
    할머니 할아버지 외할머니 외할아버지 고모 이모 삼촌 외삼촌 조카 사촌동생 손자 손녀 외손녀
    """
    ),
}
# and only the test partition has these.
RELATIONS_KO_TEST = {
    "parent": listed("양어머니 새아버지"),
    "elder": ["장인어른"],
    "spouse": listed("안사람 바깥양반"),
    "child": listed("맏아들 맏딸 늦둥이"),
    "sibling": listed("맏언니 의붓동생 쌍둥이동생"),
    "inlaw": listed("시누이 처남 올케 매형 처제 시동생 제수씨"),
    "kin": listed("당숙 외숙모 고모부 이모부 작은아버지 조카며느리"),
}
RELATIONS_EN = {
    "parent": ["mother", "father", "mum", "dad"],
    "spouse": ["spouse", "husband", "wife"],
    "child": ["daughter", "eldest son", "younger son", "youngest daughter"],
    "sibling": ["brother", "sister", "older brother", "younger sister", "twin sister"],
    "inlaw": ["son-in-law", "daughter-in-law"],
    "kin": ["grandmother", "grandfather", "uncle", "nephew", "niece", "cousin"],
}
RELATIONS_EN_TEST = {
    "parent": ["stepmother", "stepfather", "foster mother"],
    "spouse": ["fiancée", "common-law partner"],
    "child": ["stepson", "stepdaughter"],
    "sibling": ["half-sister", "half-brother", "stepbrother"],
    "inlaw": ["brother-in-law", "sister-in-law", "mother-in-law"],
    "kin": ["great-aunt", "great-uncle", "godmother", "godfather"],
}
# What a word says of the person it names, of the person whose relative that is, and of their surnames.
MEN = frozenset(
    listed(
        """
        아버지 부친 시아버지 아빠 남편 장남 차남 큰아들 작은아들 막내아들 오빠 남동생 큰오빠 사위 형부 할아버지
        외할아버지 삼촌 외삼촌 손자 장인어른 새아버지 바깥양반 맏아들 처남 매형 시동생 당숙 고모부 이모부
        작은아버지
        """
    )
) | {
    "father",
    "dad",
    "husband",
    "eldest son",
    "younger son",
    "brother",
    "older brother",
    "son-in-law",
    "grandfather",
    "uncle",
    "nephew",
    "stepfather",
    "stepson",
    "half-brother",
    "stepbrother",
    "brother-in-law",
    "great-uncle",
    "godfather",
}
WOMEN = frozenset(
    listed(
        """
        어머니 모친 친정어머니 시어머니 장모님 엄마 아내 집사람 와이프 장녀 차녀 큰딸 작은딸 막내딸 외동딸 언니
        누나 여동생 작은누나 큰언니 며느리 형수님 할머니 외할머니 고모 이모 손녀 외손녀 양어머니 안사람 맏딸
        맏언니 시누이 올케 처제 제수씨 외숙모 조카며느리
        """
    )
) | {
    "mother",
    "mum",
    "wife",
    "daughter",
    "youngest daughter",
    "sister",
    "younger sister",
    "twin sister",
    "daughter-in-law",
    "grandmother",
    "niece",
    "stepmother",
    "foster mother",
    "fiancée",
    "stepdaughter",
    "half-sister",
    "sister-in-law",
    "mother-in-law",
    "great-aunt",
    "godmother",
}
OF_MEN = frozenset(
    listed(
        """
        장모님 아내 집사람 와이프 누나 작은누나 형수님 장인어른 안사람 처남 매형 처제 제수씨
        """
    )
)
OF_WOMEN = frozenset(
    listed(
        """
        친정어머니 시어머니 시아버지 남편 언니 오빠 큰오빠 큰언니 형부 바깥양반 맏언니 시누이 올케 시동생
        """
    )
)
SAME_SURNAME = frozenset(
    listed(
        """
        아버지 부친 아빠 언니 오빠 누나 남동생 여동생 막내동생 큰오빠 작은누나 큰언니 맏언니 쌍둥이동생 할아버지
        고모 삼촌 작은아버지 당숙
        """
    )
) | {"father", "dad", "brother", "sister", "older brother", "younger sister", "twin sister", "grandfather", "uncle"}
SURNAME_OF_FATHER = frozenset(
    listed(
        """
        장남 장녀 차남 차녀 큰아들 작은아들 막내아들 큰딸 작은딸 막내딸 외동딸 맏아들 맏딸 늦둥이 손자 손녀
        """
    )
) | {"daughter", "eldest son", "younger son", "youngest daughter"}
EMAIL_WORDS = listed(
    """
    acorn almond anchor apple arrow autumn badger bakery bamboo barley basil beacon bluebird blossom bramble breeze
    bridge bubble butter button cactus camel candle canyon carrot castle cedar cello cherry chestnut cinnamon clover
    cloud cobalt cocoa comet copper coral cotton cricket crystal cupcake daffodil dandelion desert dolphin dragonfly
    drum eagle ember falcon feather fern fiddle firefly flamingo flute forest fossil fountain foxglove galaxy garden
    gazelle ginger glacier granite grape harbor harvest hazelnut heron honey horizon iceberg indigo island ivory
    jaguar jelly juniper kettle kite koala lagoon lantern lavender lemon library lighthouse lilac lobster lotus
    magnet mango maple marble meadow melon meteor mint mirror monsoon mountain mushroom nebula nectar nutmeg oasis
    ocean olive orchard orchid otter owl panda paper parrot peach pebble penguin pepper piano picnic pillow pine
    planet plum pocket polar pony poppy prairie pumpkin puzzle quartz quill rabbit radish rainbow raven reef ribbon
    river robin rocket saffron sailboat salmon sandal sapphire satchel seashell shadow silver sketch snowflake
    sparrow spinach squirrel starfish storm sunflower sunset swallow tango teapot thistle thunder tiger timber
    toffee tomato torch trumpet tulip turtle umbrella valley vanilla velvet village violin walnut waterfall whale
    willow window winter yogurt zebra zephyr
    """
)
