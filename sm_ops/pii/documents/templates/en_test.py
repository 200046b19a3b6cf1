"""English templates of the test partition."""

POSITIVE = """
=== chat-hotel chat
<{p1.first}> {d1.time} can you book the room under {p1}? my mail is {p1.email}
<{p2.first}> {d1.time} sure, which card
<{p1.first}> {d1.time} {p1.card}, exp {d.expiry}, and text {p1.phone} when done
=== intake medical p2.is=r1
Intake sheet
Patient: {p1}, DOB {p1.dob}
Brought in by {r1} {p2}; lives at {p1.address}
Payer: {bank}, {p1.account}; ID shown: resident registration number {p1.rrn}
=== roster columns
Name\tBorn\tMobile\tNext of kin
{p1}\t{p1.dob}\t{p1.phone}\t{r1}
{p2}\t{p2.dob}\t{p2.phone}\t{r2}
=== witness statement
Q. State your name. A. {p1}. Q. And who lent you the money? A. My {r1}, from an account at {bank}, {p1.account}. Q. \
Is {p1.address} where you were staying? A. It is.
=== chat-keys chat
{p1.first}: locked out again, is your {r1} home?
{p2.first}: no, but {p2} ({p2.phone}) has the spare
{p1.first}: locksmith wants prepayment, use {p1.card}
{p2.first}: done, receipt went to {p1.email}
=== ward medical k2.is=r1 r1.of=k1
Ward round {d.date_en}: {k1}, resident registration number {k1.rrn}, slept well. The {r1}, {k2}, asks for copies at \
{k2.email}. Deposit taken on card {k1.card}.
=== ledger columns
Payee\tBank\tNumber\tSum
{p1}\t{bank1}\t{p1.account}\t{d.amount_en}
{p2}\t{bank2}\t{p2.account}\t{d.amount_en}
Queries\t{p2.email}\t{p2.phone}\t-
=== affidavit statement p1.is=r1 r1.of=none
I, {k1}, born {k1.dob} and registered under {k1.rrn}, declare that {p1} is my {r1} and that we share the household \
at {k1.address}.
=== handover handover p2.is=r1
Shift notes: {p1} checked in late, passport pending, birthday {p1.dob} so leave a cake. Minibar on {p1.card}. \
Airport pickup for the {r1}, {p2}, who has alien registration number {p2.rrn}.
=== optician medical
Lenses ready for {p1}. Post them to {p1.address} or ring {p1.phone}. Balance of {d.amount_en} was wired from {bank} \
{p1.account}; the {r1} collects the old frame.
=== chat-tax chat
{p1.first}: accountant needs the registration no. of both
{p2.first}: mine is {p2.rrn}, {p1} is on file
{p1.first}: and where do they send the refund letter
{p2.first}: {p2.address}, cc {p2.email}
"""

NEGATIVE = """
=== changelog chat
<bot> build {d.version} finished at {d.time}
<ops> nice, closing {d.serial}
=== triage medical
Waiting time is about {d.count} minutes. Number {d.count} is next at desk two.
=== prices columns
Part\tUnit price
{d.serial}\t{d.amount_en}
{d.serial}\t{d.amount_en}
=== evidence statement
Exhibit {d.policy_en} is a torn envelope, found empty on {d.date_en}.
=== bot-masked chat
<bot> card ending {d.masked_card} verified, order {d.order} is out
=== night handover
Quiet night. Boiler alarm at {d.time}, engineer came, bill {d.amount_en}.
=== helpline medical
Pharmacy queue closed; phone orders through {d.switchboard} only.
=== supplier columns
Vendor\tOpen since
{co}\t{d.date_en}
{co2}\t{d.date_en}
"""
