"""English templates of the validation partition."""

POSITIVE = """
=== library membership
Membership desk: {p1}, born {p1.dob}, has registered with {p1.email} and lives at {p1.address}. A card for the {r1} \
was issued as well. Mobile: {p1.phone}.
=== payroll hr
Payroll change for {k1}: salary goes to {bank} {k1.account}. Resident registration number on file: {k1.rrn}. The \
company card {k1.card} stays with {p1}, who can be asked at {p1.email}.
=== guarantor estate p2.is=r1
Guarantor sheet
Tenant {p1} / guarantor {p2}, {r1} of the tenant
Guarantor's registration number {p2.rrn}, birthday {p2.dob}
Rent is taken from {bank} {p2.account}; spare keys are kept at {p2.address}
=== rebooking support p2.is=r1
{p1.first} called twice about seat changes. Full name {p1}, payment card {p1.card}, call-back {p1.phone}. Travels \
with a {r1} called {p2}. Fare difference {d.amount_en}.
=== parcel delivery
Left with {p1} at {p1.address} on {d.date_en}. Recipient {p2} was told on {p2.phone} and by mail to {p2.email}. \
Customs fee went to card {p2.card}.
=== school letter r1=parent r1.of=none p2.is=r1
Dear {p1}, we still miss the consent of the pupil's {r1}. Please send it with date of birth ({p2.dob}) of {p2} and \
the registration number {p2.rrn}. The trip is paid from {bank}, {p1.account}.
"""

NEGATIVE = """
=== meeting notice
The quarterly review moves to {d.date_en} at {d.time}. Bring invoice {d.order}.
=== manual guide
Hold the power key for ten seconds, then read serial {d.serial} from the label.
=== returns notice
Goods worth {d.amount_en} came back unopened under {d.policy_en}; restock them.
=== hotline notice
Dial {d.switchboard} for roadside help, day and night.
=== masked support
A caller with card {d.masked_card} wanted to know the opening hours.
=== form guide
Use block capitals. JANE ROE is a sample and must be crossed out.
=== merger news
Shareholders of {co} agreed to buy {co2} for {d.amount_en} per unit.
=== build report
Nightly build {d.version} passed {d.count} of {d.count} suites.
"""
