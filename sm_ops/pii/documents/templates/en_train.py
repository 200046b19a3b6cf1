"""English templates of the train partition: HR, support, immigration, tenancy, claims, notices."""

POSITIVE = """
=== onboarding hr p2.is=r1
New starter form
Name: {p1}
Date of birth: {p1.dob}
Home address: {p1.address}
Bank details: {bank}, account {p1.account}
Emergency contact: {p2} ({r1}), {p2.phone}
=== refund support
Ticket {d.serial}
{p1} wrote from {p1.email} asking for a refund of {d.amount_en}. The card on file is {p1.card}, valid until \
{d.expiry}. Please call back on {p1.phone} before Friday.
=== visa immigration k2.is=r1 r1.of=k1
The applicant, {k1}, holds resident registration number {k1.rrn} and was born on {k1.dob}. The accompanying {r1} is \
{k2}. Correspondence goes to {k1.address}.
=== landlord email
From: {p1} <{p1.email}>
Subject: Deposit for the flat

Hi {p2.first},
I have moved the deposit to {bank} account {p2.account} this morning. My {r1} will pick up the keys; the number to \
call is {p1.phone}. The new tenancy starts at {p1.address}.
Best, {p1.first}
=== policy-change claim p2.is=r1 r1.of=none
Policy {d.policy_en}: please replace the beneficiary {p1} by {p2}, the policyholder's {r1}. {p2.first} was born on \
{p2.dob} and is paid through {bank}, account {p2.account}.
=== fraud bank
Fraud desk note, {d.date_en}: {p1} disputes two charges of {d.amount_en} on card {p1.card}. Identity confirmed with \
resident registration number {p1.rrn}. <The card was blocked at once.|A new card is on its way to {p1.address}.>
=== relocation hr k2.is=r1 r1.of=k1
Relocation request for {k1}
Alien registration number: {k1.rrn.foreign}
Temporary housing: {k1.address}
Travelling with: {r1} {k2}
Corporate card: {k1.card}
=== school-form form r1=parent|kin p2.is=r1
Pupil: {p1}, born {p1.dob}
Collected by: {p2} ({r1}), {p2.phone}
Lunch money is charged to {p2.card} on the first school day of the month.
=== invoice-query email
Dear {p1},
Invoice {d.order} was sent to {p2.email} by mistake. Could you forward it to {p2} and confirm the transfer to {bank} \
{p2.account}? I am on {p1.phone} until five.
=== pension letter p2.is=r1 r1=spouse|parent
I, {p1}, request the survivor's pension of my late {r1}, {p2}, whose resident registration number was {p2.rrn}. \
Payments should go to {bank}, account number {p1.account}.
=== delivery-note delivery r1=parent|sibling r1.of=p2
Consignment {d.parcel}
Deliver to {p1}, {p1.address}. If nobody answers, ring {p2} on {p2.phone}. {p2.first}'s {r1} next door accepts \
parcels too. Charge {d.amount_en} to {p1.card}.
=== conference support
Registration changed: {p1} ({p1.email}) now attends instead of {p2} ({p2.email}). Badge name {p1.first}. The fee of \
{d.amount_en} was paid with {p2.card}. No hotel is needed on {d.date_en}.
=== tax immigration k2.is=r1 r1.of=k1 r1=spouse|parent|child
For the tax file of {k1}: resident registration number {k1.rrn}, date of birth {k1.dob}, dependant {r1} {k2}, \
reachable at {k1.email}.
=== clinic-bill claim p2.is=r1
The bill for {p1} was paid by the {r1}, {p2}. Reimburse {d.amount_en} to {bank} account {p2.account} and mail the \
statement to {p2.address}. Proof of identity: {p2.rrn}.
=== gym membership
Membership {d.serial}: {p1} turned in the form on {d.date_en}. Born {p1.dob}; contact {p1.email} or {p1.phone}; \
direct debit from {bank} {p1.account}. Family plan with {r1}.
=== carpool memo
{p1} drives on Mondays, {p2} on Thursdays. Text {p1.first} at {p1.phone} if your {r1} needs a seat. We meet in front \
of {p2.address} and split the toll on card {p1.card}.
=== probation hr
Probation of {k1} at {co} ends on {d.date_en}. Payroll keeps {bank} {k1.account} and resident registration number \
{k1.rrn} on file. Letters go to {k1.address}; private mail is {k1.email}.
=== lost-card bank p2.is=r1 r1=parent|spouse|sibling
Caller {p1} lost card {p1.card} on the train. Verified by date of birth {p1.dob} and the {r1}'s name, {p2}. \
Replacement goes to {p1.address}.
"""

NEGATIVE = """
=== outage notice
The payment gateway was updated to {d.version} on {d.date_en}. Orders such as {d.order} may show twice. No action is \
needed.
=== shipping notice
Parcel {d.parcel} left the depot at {d.time}. The declared value is {d.amount_en} and the policy number is \
{d.policy_en}.
=== switchboard notice
Our switchboard {d.switchboard} is closed on public holidays. Quote reference {d.serial} when you write to us.
=== redacted support
[redacted copy] The customer asked about card {d.masked_card}. Phone and name were removed before this ticket was \
shared.
=== guide guide
Write your name as in your passport, for example JOHN DOE. Leave the last seven digits of the registration number \
blank.
=== sister-company news
{co} and its sister company {co2} will share a warehouse from {d.date_en}. The parent company keeps its stake.
=== inventory report
Stock count at {d.time}: item {d.serial}, {d.count} boxes; item {d.serial}, {d.count} boxes. The value is \
{d.amount_en}.
=== titles hr
Please ask the head of purchasing to sign request {d.order} for {d.amount_en} before the audit on {d.date_en}.
=== release notice
Release {d.version} fixes the export of long tables. Upgrade before {d.date_en}.
"""
