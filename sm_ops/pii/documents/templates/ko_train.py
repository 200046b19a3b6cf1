"""Korean templates of the train partition: forms, counselling notes, memos, e-mails, claims, HR and school papers."""

POSITIVE = """
=== membership form
회원가입 신청서
성명: {p1}
생년월일: {p1.dob}
휴대전화: {p1.mobile}
이메일: {p1.email}
주소: {p1.address}
추천인 코드: {d.serial}
=== letterspaced form p1=plain p2.is=r1
인 적 사 항
성　명 : {p1}
주민등록번호 : {p1.rrn}
주　소 : {p1.address}
비상연락처 : {r1} {p2} ({p2.phone})
위와 같이 제출합니다. {d.date}
=== counsel-delay counselling
[상담메모] {d.date} {d.hour}
{p1} <고객님|회원님> 전화. 카드 배송이 늦어진다고 <하심|불편해하심>.
본인확인은 생년월일({p1.dob}){과} 등록된 번호 {p1.mobile}{으로} 완료.
새 배송지는 {p1.address}. 배송비 {d.fee} 면제 처리함.
=== counsel-limit counselling
이체 한도를 올리려는 {p1} 님과 통화함. 계좌는 {bank} {p1.account}이고, 실명번호는 {p1.rrn}{으로} 확인했다. 한도는 \
{d.sum}까지 승인. 처리 직원은 {d.surname} 대리.
=== courier delivery
배송 메모 - 운송장 {d.parcel}
받는 분 {p1} / {p1.mobile}
{p1.address}
부재 시 <같이 사는 |>{r1}{이} 대신 받는다고 함. <문 앞에 두지 말 것.|경비실에 맡기지 말 것.>
=== hr-dependant hr r1=parent p1.age=young p2.age=old p2.is=r1
{d.date} 인사팀 {d.surname} 과장 앞
{p1} 사원의 피부양자로 {r1} {p2}{을} 올려 주시기 바랍니다.
사원 주민번호 {p1.rrn}, 피부양자 주민번호 {p2.rrn}.
급여 계좌({bank} {p1.account})는 그대로입니다.
=== claim-fracture claim r1=spouse|parent|sibling p2.is=r1
보험금 청구 내용
증권번호 {d.policy}
피보험자 {p1}({p1.rrn})
사고 경위: {d.day} <출근길에 빙판에서|계단을 내려오다> 넘어져 손목이 부러짐.
수령 계좌는 {bank} {p1.account}, 예금주는 {r1} {p2}
=== mail-invoice email
보낸사람: {p1} <{p1.email}>
받는사람: {p2} <{p2.email}>
제목: {d.date} 세금계산서 재발행 요청

{p2} 과장님, 안녕하세요. {co} {p1}입니다.
사업자등록번호 {d.business} 앞으로 {d.amount} 건을 다시 끊어 주세요.
급하면 제 휴대폰 {p1.mobile}{으로} 연락 주십시오.
=== callcentre-card callcentre r1=parent|sibling
고객: 카드를 잃어버렸어요. 이름은 {p1}{이에요}.
상담원: 네, {p1} 고객님. 카드번호 불러 주시겠어요?
고객: {p1.card}이고 유효기간은 {d.expiry}이에요.
상담원: 생년월일도 부탁드립니다.
고객: {p1.dob}이고요, 재발급은 {r1} 집으로 보내 주세요. {p1.address}
=== school-trip notice r1=parent p2.is=r1 school=초등학교|중학교|고등학교
현장체험학습 신청서 ({school})
학생: {p1}
보호자: {p2} (관계: {r1})
보호자 연락처: {p2.phone} / {p2.email}
장소와 기간: {d.date}부터 1박 2일
=== noun-class notice p1=noun r1=parent
{~p1.given}반 알림장: 오늘 생일을 맞은 {p1.given}{이} 친구들과 떡을 나눠 먹었어요. {p1} 어린이 {r1}께서 보내 주신 \
과일도 잘 먹었습니다. 사진은 {p2.email}{으로} 보내 드렸어요.
=== station-meet memo p1=station
{p1} 씨와 {~p1}역 3번 출구에서 {d.hour}에 만나기로 했다. 늦으면 {p1.mobile}{으로} 문자하기로 함. {r1}도 같이 온다고 \
들었다.
=== foreign-worker hr
외국인 근로자 등록 요청
성명: {f1}
외국인등록번호: {f1.rrn.foreign}
여권 영문명은 별지 참조, 숙소는 {f1.address}.
급여는 매월 25일 {bank} {f1.account}{으로} 지급한다. 담당자 {p1}.
=== bilingual email
Hi {e1}, 지난주에 말씀드린 {co} {p1} 팀장({p1.roman})입니다.
계약서 송부처는 {p1.address}이고, 회신은 {p1.email}{으로} 부탁드려요. Thanks!
담당자 직통은 {p1.phone}이며 대표번호 {d.switchboard}{은} 받지 않습니다.
=== autopay bank
자동이체 신청 내역 안내
예금주 {p1} 님, {bank} {p1.account}에서 매월 {d.amount}{이} 출금됩니다.
카드 결제로 바꾸시려면 등록 카드({p1.card}, 유효기간 {d.expiry})를 다시 확인해 주세요.
=== mileage counselling
{p1} 님 마일리지가 {p2} 님께 잘못 적립되어 정정함. 두 분 카드가 {p1.card}, {p2.card}{으로} 뒷자리가 비슷해서 생긴 \
일. 사과 문자는 {p1.mobile}{으로} 발송.
=== lease estate
임대차 계약서 특약
임대인 {p1}(주민등록번호 {p1.rrn}){은} 임차인 {p2}에게 아래 부동산을 빌려준다.
소재지: {p2.address.lot}
보증금 {d.sum}{은} {bank} {p1.account}{으로} 입금한다.
임차인 연락처 {p2.mobile}
=== wedding letter r1=parent r1.of=p2 p1.sex=m p2.sex=f
{p1} 군과 {p2} 양이 {d.date} 작은 예식을 올립니다. 신부 {r1}께서 편찮으셔서 가족끼리만 모입니다. 마음 전하실 곳은 \
{bank} {p2.account}, 문의는 {p1.phone}입니다.
=== lost-bag complaint r1=parent|spouse|child
분실물 신고 접수
신고인: {p1} ({p1.mobile})
가방 안에 있던 것: 본인 카드({p1.card}) 1장, {r1} 사진, 현금 {d.amount}
찾으면 {p1.email}{으로} 알려 달라고 하심.
=== gift-card delivery
선물하기 주문 {d.order}
보내는 이 {p1}, 받는 이 {p2}
배송지: {p2.address} / 받는 이 전화 {p2.phone}
결제: {p1.card} 일시불 {d.amount}
카드 문구: "{p2.given}{아}, 생일 축하해!"
=== resume hr
입사지원서
지원자 {p1}(한자 {p1.hanja}), {p1.dob} 출생
전자우편 {p1.email}
현주소 {p1.address}
추천인: {co} {p2} 이사 {p2.phone}
=== tax-refund letter r1=spouse|parent p2.is=r1 p2.age=old
연말정산 서류를 다시 냅니다. {p1}{이라} 하고 주민등록번호는 {p1.rrn}입니다. 작년에 빠진 {r1} {p2}({p2.rrn}) 공제를 \
넣어 주세요. 환급 계좌는 {bank} {p1.account}입니다.
=== sibling-name memo
동명이인 주의: 3층 {p1} 씨는 {p1.dob}생이고 5층 {p1} 씨와 다른 사람이다. 5층 분은 {r1} 병간호로 휴직 중. 우편물은 \
{p1.address}{으로} 보낸다.
=== hotel callcentre
직원: {co} 예약실입니다. 성함이 어떻게 되세요?
손님: {p1}이고요, 일행은 {p2}, {p3} 외 2명이에요.
직원: 확인 메일 받으실 주소는요?
손님: {p1.email}{으로} 보내 주세요. 보증 카드는 {p1.card}, {d.expiry}까지예요.
직원: 네, {p1} 님 감사합니다. 예약번호는 {d.order}입니다.
=== passport form p1=plain
여권 재발급 신청
국문성명 {p1} / 로마자성명 {p1.caps}
주민등록번호 앞뒤: {p1.rrn}
긴급연락처: {p1.tel} ({r1})
수수료 {d.fee} 카드 납부 {p1.card}
=== donation email
제목: [감사] {p1} 후원자님께
{p1} 후원자님, 이번 달에도 {d.amount}{을} 보내 주셔서 고맙습니다.
결제 카드 {p1.card}{이} {d.expiry}에 만료되오니 새 번호를 {d.switchboard}{으로} 알려 주세요.
영수증은 생년월일 {p1.dob} 기준으로 국세청에 등록하고 {p1.email}{으로} 보내 드립니다.
=== alimony counselling r1=spouse
내담자 {p1}({p1.dob}){은} {r1}{과} 따로 산 지 2년째라고 함.
생활비는 {bank} {p1.account}{으로} 받기로 했으나 석 달째 끊겼다고 호소.
<다음 회기에 법률 지원을 안내하기로 함.|쉼터 정보를 드림.>
연락은 {p1.email}{으로} 원하심.
=== moving notice r1=parent|spouse
관리사무소 알림
{building} 입주민 {p1} 님 이사 차량이 {d.day} {d.hour}에 들어옵니다.
새로 오시는 분은 {p2} 님이고 연락처는 {p2.mobile}입니다.
열쇠는 {p1} 님 {r1}께서 대신 반납하십니다. 전출지: {p1.address}
=== car-accident claim r1.of=p2
접수번호 {d.serial}
가해 차량 운전자 {p1}, 피해자 {p2} 및 동승한 {r1}
피해자 주민등록번호 {p2.rrn}, 합의금 {d.amount}{은} {bank} {p2.account} 입금 예정
담당 {d.surname} 과장
=== club-list memo r1=spouse|child|sibling
등산회 총무가 받아 적은 것: 회장 {p1} {p1.phone}, 부회장 {p2} {p2.phone}, 회비 통장 {bank} {p1.account}. 회장 \
{r1}도 다음 산행부터 온단다.
=== overseas email r1=spouse|sibling p2.is=r1
To: {p1.email}
Subject: 출국 서류 확인

{p1.roman} 님(한글 {p1}), 여권과 같은 영문 이름인지 봐 주세요.
등록된 생일은 {p1.dob}, 동반자는 {r1} {p2} 님입니다.
경비 카드 {p1.card}{은} 현지에서도 쓸 수 있습니다.
=== subsidy form
지원금 신청서(요약)
성명/생년월일/연락처
{p1} / {p1.dob} / {p1.phone}
{p2} / {p2.dob} / {p2.phone}
세대주와의 관계: {r1}
입금 계좌: {bank} {p1.account}
=== nanny contract r1=parent r1.of=none p1.is=r1
돌봄 서비스 계약 - 이용자 {p1}, 아동의 {r1}
제공자 {p2}(주민등록번호 {p2.rrn}){은} 평일 {d.hour}부터 네 시간 동안 이용자의 집({p1.address})에서 아동을 돌본다.
보수는 매주 {d.amount}이다.
=== insurance-change claim r1=spouse|parent|sibling p2.is=r1
수익자 변경 신청
계약자 {p1} {p1.rrn}
현재 수익자: {r1} {p2}
변경 수익자: {p3}, 생년월일 {p3.dob}
보험료 카드 납부: {p1.card} ({d.expiry})
=== warranty counselling
제품 일련번호 {d.serial} 건. {p1} 고객께서 "{r1}{이} 쓰다가 떨어뜨렸다"고 하셔서 유상 수리로 안내. 수거지는 \
{p1.address}. 수리비 {d.amount}{은} {p1.card}{으로} 결제하겠다고 하심. 견적서는 {p1.email}{으로} 보냄.
=== academy notice r1=parent
{p1} 학생 {r1}께 드립니다. 이번 달 교재비 {d.fee}{을} {bank} {p2.account}(예금주 {p2} 원장)로 보내 주시면 됩니다. \
궁금한 점은 {p2.mobile}{이나} {p2.email}{으로} 물어봐 주세요.
=== hwp-report report r1=parent|child|spouse
민원 처리 결과 보고
1. 민원인: {p1} ({p1.dob}생, {p1.tel})
2. 요지: 거주지({p1.address}) 앞 가로등이 밤새
   꺼져 있어 {r1}{이} 넘어질 뻔했다는 내용
3. 조치: {d.date} 교체 완료, 비용 {d.amount}
=== broker estate r1=spouse|sibling|parent p2.is=r1
매물 확인 요청. 집주인 {p1} 사장님 번호가 {p1.mobile}에서 {p1.tel}{으로} 바뀌었습니다. 물건지는 {p1.address}입니다. \
계약금 받을 곳은 {bank} {p1.account}, 등기상 공동명의자는 {r1} {p2}입니다.
=== scholarship form r1=parent p1.age=young p2.is=r1 school=대학교
장학금 추천 명단에서 뽑은 내용
학교: {school}
추천 학생: {p1} (주민등록번호 {p1.rrn})
보호자: {r1} {p2}, {p2.phone}
장학금은 {bank} {p1.account}{으로} 넣어 주시기 바랍니다.
=== pet-hotel memo
{p1} 님 강아지 3박 맡기심. {d.day} {d.hour}에 {r1}{이} 데리러 온대요. 예약금은 카드({p1.card})로 받았고 사진은 \
{p1.mobile}{으로} 보내 드리기로.
=== title-change complaint r1=spouse|parent|sibling r1.of=none p2.is=r1
{clinic} 홈페이지에 제 {r1} 이름이 잘못 나옵니다. {p1}{이} 아니라 {p2}입니다. 예약할 때 쓴 주민등록번호는 {p2.rrn}, \
결제 카드는 {p2.card}입니다. 고치신 뒤 {p1.email}{으로} 답장 주세요.
=== equipment hr
노트북 반납 확인서
반납자 {p1} ({co} 영업2팀, {p1.email})
자산번호 {d.serial}, 소프트웨어 {d.version}
퇴직금 수령: {bank} {p1.account}
퇴직 후 연락처 {p1.mobile}, 주소 {p1.address}
확인자 {d.surname} 부장
=== pharmacy-card delivery
[현관 앞 요청] {p1} 님 건강식품, {p1.address}. 초인종 누르면 아기가 깨니 {p1.mobile}{으로} 문자만 주세요. 착불 \
{d.fee}{은} {r1}{이} 현금으로 드립니다.
=== loan bank
대출 상담 기록
신청인 {p1}({p1.rrn}){은} 전세자금 {d.sum}{을} 희망함.
친척의 보증은 받지 않는다고 안내했고, 서류는 {p1.email}{으로} 받기로 함.
이자는 {bank} {p1.account}에서 나간다.
=== visitor form
방문자 출입 신청
방문자: {p1}, {f1} (생년월일 {p1.dob}, {f1.dob})
소속: {co}
차량 없음, 담당자 {p2} 책임 {p2.tel}
보안서약서는 {p1.email}{으로} 보냄
=== baby-gift letter r1=kin
{p1} 님네 {r1}께서 돌반지를 보내셨어요. 답례는 {p1.address}{으로} 부치면 된대요. 카드값은 제 카드 {p2.card}에서 \
나가니까 걱정 마시고, 궁금하면 {p2.phone}{으로} 전화 주세요.
=== official form p1=plain p2.is=r1
위　임　장
성 　명 : {p1.spaced}
생년월일 : {p1.dob}
주민등록번호 : {p1.rrn}
위 본인은 {r1} {p2}에게 인감증명서 발급을 맡깁니다.
{d.date}　　위임인 {p1} (인)
=== tracing counselling r1=child|spouse p1.age=old
{p1} 어르신이 어제 {p2} 씨네 가게에 들렀다가 길을 잃었다고 {r1}{이} 전화함. {p1}의 생일은 {p1.dob}, 인상착의 메모는 \
{p2.email}{으로} 받음. {p2}한테만 묻지 말고 {p1}의 이웃들에게도 확인할 것.
=== silver-center callcentre r1=child|kin p1.age=old
어르신: 여보세요, 나 {p1}{이라}고 하는데.
직원: 네 {p1} 어르신, 생년월일이 {p1.dob} 맞으세요?
어르신: 그래, 우리 {r1}{이} 적어 준 번호가 {p1.rrn.plain}이야.
직원: 전산에도 {p1.rrn}{으로} 나와요. 기초연금은 {bank} {p1.account}{으로} 들어갑니다.
=== birthday-club memo
생일자 챙기기: {p1} {p1.dob}, {p2} {p2.dob}, {p3} 씨 생신은 {p3.dob.lunar}. 꽃값은 총무 카드 {p1.card}{으로} 먼저 \
긁고 나눠 내자.
=== id-check bank
신분증 진위 확인
고객 {p1}님이 제시한 번호는 {p1.rrn}, 하이픈 없이 입력하면 {p1.rrn.plain}.
생년월일 {p1.dob}{과} 일치하여 계좌 개설을 진행함.
카드 수령지: {p1.address}
=== apology email r1=parent|spouse
보낸 사람: {co} 고객지원 <{p2.email}>
{p1} 고객님과 통화한 {p2}입니다. 어제 {p1} 고객님께서 불러 주신 생일 {p1.dob}{을} 제가 잘못 적어 {r1}께 문자가 \
갔습니다. 죄송한 마음에 {d.fee} 쿠폰을 {p1.mobile}{으로} 보냈습니다.
"""

NEGATIVE = """
=== switchboard notice
고객센터 대표번호 {d.switchboard}{은} 평일 {d.hour}부터 운영합니다. 주문번호 {d.order}{을} 미리 준비해 주세요. \
상담이 몰리는 월요일에는 연결이 늦을 수 있습니다.
=== invoice form
거래명세서
공급자: {co}
사업자등록번호: {d.business}
품명: 견출지 외 {d.count}종
합계금액: {d.amount}
발행일: {d.date}
=== sample guide
작성 예시) 성명란에는 홍길동처럼 한글로 적고, 영문은 여권과 같게 씁니다. 주민등록번호 뒷자리는 적지 마세요. 문의는 \
각 부서 서무에게 하시면 됩니다.
=== parent-company news
{co}{은} 형제 기업 {co2}{과} 공동 물류센터를 짓기로 했다. 모회사 지분은 그대로이며 투자액은 {d.sum}이다.
=== masked-log counselling
[가림 처리본] {d.masked_name} 고객, 연락처 {d.masked_phone}, 카드 {d.masked_card}. 개인정보는 상담 화면에서만 볼 수 \
있음. 문의 유형은 배송 지연이며 {d.date} 처리 완료.
=== spelled-out memo
전화번호를 말로 적어 둔 쪽지가 있었다. 공일공에 영영일이, 삼사오육이라고 쓰여 있었는데 누구 것인지는 모른다. \
{d.surname} 부장께 여쭤보고 버리기로 했다.
=== release notice
사내 메신저 {d.version} 배포 안내 ({d.date})
- 읽음 표시 오류 수정
- 파일 보관 기간 {d.count}일로 연장
설치가 안 되면 전산실로 오세요.
=== sister-city news
{d.date} 두 도시의 청소년 교류단이 만났다. 자매결연을 맺은 지 {d.count}년이 되는 해다. 참가비 {d.fee}{은} 시에서 냈다.
=== inventory report
창고 재고 점검 결과
품번 {d.serial}, 수량 {d.count}상자
품번 {d.serial}, 수량 {d.count}상자
부족분은 {d.day}까지 채우고 운송장 {d.parcel}{을} 확인한다.
=== title-only hr
{d.surname} 과장님이 휴가라 {d.surname} 차장님께 결재를 올렸습니다. 품의 번호는 {d.order}이고 금액은 \
{d.amount}입니다. <급하지 않으니 다음 주에 봐 주셔도 됩니다.|오늘 안에 부탁드립니다.>
"""
