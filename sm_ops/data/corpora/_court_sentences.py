"""Sentences of court-like documents: the parts of a case with several wordings each, and slots for its particulars.

A slot is `{who.form}` for people (`full`, `last`, `first`; `mr_full`, `mr_last` with a title; the pronouns `he`, `his`,
`him`, `He`) or `{thing}`; `sm_ops/data/corpora/court.py` lists them. Titles, pronouns and articles are not private.
"""

from __future__ import annotations

OPENING = (
    "The case originated in an application (no. {application}) against {country} lodged with the Court by a {nation} "
    "national, {applicant.mr_full} (“the applicant”), on {date}.",
    "On {date} {applicant.mr_full} (“the applicant”), a {nation} national, lodged application no. {application} "
    "against {country} with the Court.",
    "This case concerns application no. {application}, which a {nation} national, {applicant.mr_full} (“the "
    "applicant”), brought against {country} on {date}.",
    "By an application of {date}, registered as no. {application}, {applicant.mr_full} (“the applicant”), who is a "
    "national of {country}, complained about proceedings there.",
)
COUNSEL = (
    "The applicant was represented by {lawyer.mr_full}, a lawyer practising in {town}.",
    "{applicant.mr_last} was represented before the Court by {lawyer.mr_full}, who practises in {town}.",
    "The applicant, who had been granted legal aid, was represented by {lawyer.mr_full}, a member of the {bar}.",
    "Before the Court {lawyer.mr_full}, of the {bar}, acted for the applicant.",
)
GOVERNMENT = (
    "The Government of {country} (“the Government”) were represented by their Agent, {agent.mr_full}.",
    "The Government were represented by {agent.mr_full}, their Agent, and later by {agent2.mr_full}.",
    "The respondent Government were represented by their Agent, {agent.mr_full}, of the Ministry of Justice.",
)
COURSE = (
    "On {date} the Court decided to give notice of the application to the Government.",
    "On {date} a Chamber presided over by {judge.full} declared the application partly inadmissible.",
    "The parties filed observations on the merits on {date}.",
    "On {date} the President of the Section, {judge.full}, gave leave for written comments by the {bar}.",
    "The Chamber, of which {judge.full} and {judge2.full} were members, heard the parties on {date}.",
    "{registrar.full}, the Section Registrar, informed the parties on {date} that no hearing would be held.",
)
PERSON = (
    "The applicant was born in {born} and lives in {home}.",
    "The applicant, {a_trade}, was born in {born} and lives in {home}.",
    "{applicant.mr_last}, who was born in {born}, is {a_trade} by profession and lives in {home}.",
    "At the material time {applicant.mr_last} lived in {home} and worked as {a_trade}.",
    "The applicant was born in {born} in {town}. {applicant.He} moved to {home} in {year}.",
    "{applicant.mr_last} is {a_trade}. {applicant.He} was detained in the {prison} when the application was lodged.",
)
FACTS = (
    "On {date} {applicant.mr_last} was arrested in {town} by officers of the {police} on suspicion of fraud.",
    "On {date} the {prosecutor} opened an investigation against the applicant (file no. {file}).",
    "The investigation, which was led by {officer.full} of the {police}, lasted {duration}.",
    "On {date} {officer.mr_last} questioned the applicant for {hours} without a lawyer.",
    "On {date} the {district} ordered that the applicant be remanded in custody for {duration}.",
    "{applicant.mr_last} was taken to the {prison}, where {applicant.he} shared a cell with {count} other prisoners.",
    "On {date} {doctor.full}, a physician at the {hospital}, examined the applicant and found bruises on "
    "{applicant.his} back.",
    "According to a certificate that {doctor.full} of the {hospital} drew up on {date}, the applicant could not "
    "work for {duration}.",
    "On {date} {relative.full}, the applicant's {kin}, asked the {prosecutor} for permission to visit {applicant.him}.",
    "{relative.mr_last} was heard as a witness on {date} and confirmed that the applicant had been at home in {home}.",
    "{witness.full}, {a_trade2} from {town}, stated that {witness.he} had met the applicant at the station on {date}.",
    "At the hearing of {date} {witness.mr_last} withdrew {witness.his} earlier statement.",
    "The applicant was employed by the {company} until {date}, when {applicant.his} contract was ended.",
    "On {date} the {company} sued the applicant for {money} in damages.",
    "The {bank} had granted the applicant a loan of {money} on {date}.",
    "On {date} the {newspaper} published an article in which {applicant.mr_full} was called a swindler.",
    "The article had been written by {witness.full}, who relied on a report of the {council}.",
    "On {date} the {council} refused to grant the applicant a building permit for a plot in {home}.",
    "The applicant had bought the plot from {seller.full} for {money} in {year}.",
    "{seller.mr_last} brought an action (no. {file}) before the {district} and claimed {share} of the price.",
    "On {date} the {welfare} placed the applicant's {child}, {minor.first}, in the care of a family in {town}.",
    "{minor.first} was {age} at the time and had lived with {relative.full}.",
    "An expert of the {university}, {expert.full}, submitted {expert.his} opinion on {date}.",
    "In {expert.his} opinion of {month} {expert.mr_last} assessed the damage at {money}.",
    "The applicant's flat belonged to the {housing}, which sought {applicant.his} eviction on {date}.",
    "On {date} officers of the {police} searched the applicant's flat in {home} and seized {money} in cash.",
    "In {month} {applicant.mr_last} was dismissed from {applicant.his} post at the {university}.",
    "On {date} {lawyer.mr_last} asked for access to case file no. {file}.",
    "The request was granted on {date} by {officer.full}.",
    "From {date} the applicant was treated at the {hospital} under the supervision of {doctor.full}.",
)
RULINGS = (
    "On {date} the {district}, composed of {local.full} sitting as a single judge, convicted the applicant and "
    "sentenced {applicant.him} to {term} of imprisonment.",
    "By a judgment of {date} (no. {file}) the {regional} dismissed the applicant's claim.",
    "The applicant appealed on {date}. On {date} the {appeal} quashed the judgment and sent the case back.",
    "On {date} the {regional}, presided over by {local.full}, upheld the decision.",
    "The {appeal} increased the fine to {money} by a judgment of {date}.",
    "On {date} the {administrative} allowed the applicant's complaint in part and awarded {applicant.him} {money}.",
    "Judge {local.last} of the {regional} withdrew from the case on {date} at {local.his} own request.",
    "The hearing listed for {date} was adjourned because {witness.mr_last} did not appear.",
    "On {date} the {appeal} declared the applicant's cassation appeal (no. {file}) inadmissible.",
    "That decision was served on {lawyer.mr_last} on {date}.",
    "Between {date} and {date} the {district} held {count} hearings.",
    "The proceedings before the {regional} lasted {duration} in all.",
)
CLAIMS = (
    "The applicant claimed {money} in respect of non-pecuniary damage.",
    "{applicant.mr_last} claimed {money} for loss of earnings and {money} for costs and expenses.",
    "The applicant complained that the proceedings, which began on {date} and ended on {date}, had been too long.",
    "{applicant.mr_last} alleged that {judge.last} had been biased, since {judge.he} had once advised the {bank}.",
    "The Government submitted that the {regional} had acted with due diligence and that {share} of the delay was the "
    "applicant's own.",
    "{agent.mr_last} contested these claims as excessive.",
    "The Court awards the applicant {money} and dismisses the remainder of {applicant.his} claim.",
    "Done in English and notified in writing on {date}. {registrar.full}, Registrar; {judge.full}, President.",
)
