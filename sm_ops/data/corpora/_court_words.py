"""Invented words for court-like documents: parts of names, trades, bodies. No person, place or body is meant."""

from __future__ import annotations


def _listed(text: str, by: str | None = None) -> tuple[str, ...]:
    return tuple(text.split(by))


STARTS = _listed(
    "Al Bren Cor Dal Eld Fen Gar Hol Irn Jor Kel Lorn Mar Nev Or Pel Quil Ral Sel Tarv Ul Vel Wend Yar Zan Brul Drov "
    "Esk Grov Hesk Jask Krem Lusk Morv Nask Osk Prov Rusk Stav Trov Vask Zelk Bask Dorn Falk Gask"
)
MIDDLES = _listed("a e i o u ar en il")
MEN = _listed("dan rik mos lan nor vit bek sil gar tus rem kov")
WOMEN = _listed("dra rina lia nessa vita mira sena tela ruth wyn dette lise")
SURNAMES = _listed("vanger dorsky melin thow brandt kovar lisek nadal rosh tavik wenly zuric holme pranic strom veld")
TOWNS = _listed("burg mouth haven stead grad dorf minster wick holm ford pol var")
COUNTRIES = {
    "dovia": "dovian",
    "ravia": "ravian",
    "lonia": "lonian",
    "mark": "markish",
    "sterra": "sterran",
    "vania": "vanian",
    "gard": "gardish",
    "thuria": "thurian",
}
"""Endings of states, and of the adjectives made of them."""
TRADES = _listed(
    "accountant,architect,baker,bookbinder,bricklayer,bus driver,carpenter,chemist,civil engineer,clerk,cook,courier,"
    "dairy farmer,dentist,dressmaker,electrician,fisherman,forester,gardener,geologist,glazier,hairdresser,innkeeper,"
    "interpreter,journalist,joiner,lecturer,librarian,lorry driver,mechanic,midwife,miner,musician,notary,nurse,"
    "optician,painter,pharmacist,photographer,piano teacher,plumber,police officer,postman,potter,printer,"
    "retired colonel,retired judge,roofer,sailor,schoolteacher,shepherd,shopkeeper,social worker,stonemason,surveyor,"
    "tailor,taxi driver,translator,typist,upholsterer,veterinary surgeon,watchmaker,weaver,welder",
    by=",",
)
BODIES = {
    "district": "{} District Court",
    "regional": "{} Regional Court",
    "appeal": "{} Court of Appeal",
    "administrative": "{} Administrative Court",
    "prosecutor": "{} Public Prosecutor's Office",
    "prison": "{} Remand Prison",
    "police": "{} Police Department",
    "hospital": "{} General Hospital",
    "council": "{} Municipal Council",
    "welfare": "{} Child Welfare Office",
    "bar": "{} Bar Association",
    "bank": "{} Savings Bank",
    "housing": "{} Housing Cooperative",
    "company": "{} Tramway Company",
    "newspaper": "{} Evening Post",
    "university": "University of {}",
}
"""Bodies by the slot that names them; each bears the name of a town."""
NUMBERS = _listed("two three four five six seven eight nine ten eleven twelve fourteen fifteen eighteen twenty thirty")
MONTHS = _listed("January February March April May June July August September October November December")
