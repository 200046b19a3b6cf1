"""Korean templates of the test partition; chat logs, medical reception, column forms and statements stand in no \
other one."""

POSITIVE = """
=== chat-gift chat r1.of=p2
[{p1}] [{d1.hour}] {p2.given}{아}, 어제 보낸 선물 받았어?
[{p2}] [{d1.hour}] 응ㅋㅋ 고마워! 통장 어디야, 반은 내가 낼게
[{p1}] [{d1.hour}] {bank} {p1.account} 여기
[{p2}] [{d1.hour}] {r1}{이랑} 같이 고른 거지?
=== reception medical p2.is=r1 clinic=내과의원|소아과의원|이비인후과|종합병원|요양병원
<접수|재진접수> {d.time} / {clinic}
환자 {p1} ({p1.rrn})
보호자 {p2}({r1}) {p2.mobile}
주호소: 사흘 전부터 기침과 미열. 약 알레르기 없음.
=== columns columns
이름\t생일\t전화\t전자우편
{p1}\t{p1.dob}\t{p1.phone}\t{p1.email}
{p2}\t{p2.dob}\t{p2.phone}\t{p2.email}
=== cardfraud statement
진술인 {p1}{은} 잃어버린 카드({p1.card})가 쓰인 사실을 뒤늦게 알았으며, 당시 {r1}{과} 함께 {p1.address}에 머물고 \
있었다고 진술하였다.
=== chat-carsale chat p3.is=r1
{p2} : 차 아직 있나요?
{p1} : 네ㅎㅎ 보러 오실 때 톡 말고 {p1.mobile} 이쪽으로요
{p2} : 명의는 본인 거예요?
{p1} : 아뇨 {r1} {p3} 명의예요. 만나는 데는 {p1.address} 주차장이요
{p2} : 넵 예약금 보낼게요, 번호 찍어 주세요
{p1} : {bank} {p1.account}
=== vaccination medical
예방접종 문진 (간호사 기록)
수검자 {p1}, {p1.dob}생, 동반 {r1}
과거력 특이사항 없음. 체온 36.5도, 오늘 접종 가능.
결과 문자 수신 {p1.mobile}, 수납 카드 {p1.card}
=== ledger columns
번호\t예금주\t은행\t계좌\t금액
1\t{p1}\t{bank1}\t{p1.account}\t{d.amount}
2\t{p2}\t{bank2}\t{p2.account}\t{d.amount}
비고\t{p2} 건은 {r1} 대납, 확인 메일 {p2.email}
=== witness statement
문: 피해자를 어떻게 압니까.
답: {p2}{은} 제 {r1} 친구입니다. 저는 {p1}이고 주민등록번호는 {p1.rrn}입니다.
문: 돈은 어디로 보냈습니까.
답: {bank} {p2.account}{으로} 보냈고, 그때 통화한 번호가 {p2.phone}입니다.
=== chat-reunion chat r1=parent|elder r1.of=p2
{p1.given}: 동창회 장소 떴다, {~p1.given} 카페 아니고 회관이래
{p2.given}: 나 못 가, {r1} 생신이야
{p1.given}: 그럼 회비만 내. 카드로 결제해 줄게
{p2.given}: ㅇㅋ {p2.card} 유효 {d.expiry}
{p1.given}: 영수증 {p2.email} 여기로 쏜다
=== dental medical
치과 원무과 인계
{p1} 님 임플란트 2차 {d.day} {d.hour}. 성함 같은 환자가 있어 {p1.dob}{으로} 구분할 것.
진료비 {d.amount} 중 절반은 {r1} 카드 {p1.card}{으로} 긁으심.
약은 {p1.address}{으로} 택배 요청.
=== roster columns r1=spouse|child r2=spouse|parent|child r2.of=f1
순번\t성명\t주민번호\t가족
1\t{p1}\t{p1.rrn}\t{r1}
2\t{f1}\t{f1.rrn.foreign}\t{r2}
총원 2명, 숙소 {p1.address}
=== inherit statement r1=child|spouse|sibling r1.of=p2 p1.is=r1
상속인 {p1}({p1.rrn})은 피상속인 {p2}의 {r1}{으로}서 아래와 같이 확인한다.
하나. 예금 {bank} {p2.account}
둘. 부동산 {p2.address.lot}
=== chat-tutor chat r1=parent|elder r1.of=p2
과외쌤 {p1}: {d1.hour} 수업 맞죠?
학생 {p2.given}: 네 근데 오늘 {r1} 계셔서 카페 말고 집이요
과외쌤 {p1}: 집 주소 다시요ㅠㅠ
학생 {p2.given}: {p2.address} 이에요, 자료는 {p2.email} 주세요
=== discharge medical p2.is=r1
퇴원 요약 발송 동의
{p1} (등록번호 {p1.rrn})
수신: {p1.email}, 팩스 대신 우편 {p1.address}
동의자 서명 {p2}, 환자와의 관계 {r1}
=== cafe-staff columns
알바\t생년월일\t휴대폰\t급여통장
{p1}\t{p1.dob}\t{p1.mobile}\t{p1.account} ({bank})
{e1}\t{e1.dob}\t{e1.mobile}\t{e1.account} ({bank2})
=== deposit-dispute statement
고소인 {p1}{은} {d.date} 피고소인 {p2}에게 전세금 {d.sum}{을} 떼였다.
피고소인의 알려진 번호는 {p2.mobile}{과} {p2.tel} 둘이다.
고소인은 카드론({p1.card})까지 써 가며 버텼다고 하며, 고소장에는 생년월일 {p1.dob}만 적었다.
=== chat-group chat r1.of=p3
{p1} 님이 {p2} 님과 {p3} 님을 초대했습니다.
{p3}: 안녕하세요 {r1} 소개로 왔어요
{p1}: 참가비는 체크카드 되나요? 제 건 {p1.card}
{p2}: 되는데 신청서에 {p2.given}{이} 대신 적어야 해요, 메일 {p1.email} 맞죠
=== eye-clinic medical p2.is=r1 clinic=안과의원|종합병원|요양병원
{clinic} 검사 예약 확인
예약자: {p1}님 ({p1.mobile})
도수: 좌 -3.25 우 -2.75
검사 당일 운전이 안 되니 {r1} {p2}님과 오시고, 검사료는 {p1.card}{으로} 선결제되었습니다.
=== handover handover p2.sex=f p2.age=old r1.of=f1 r1=spouse|child
{p1} 매니저 인수인계
- 단골 {p2} 여사님: {p2.dob} 생신 쿠폰 나감, 쿠폰은 {p2.email}
- 외국 손님 {f1}: 한국 번호 {f1.mobile}, 자주 {r1} 동반
- 금고 관련은 {d.surname} 점장님께
=== noun-shop chat p1=noun
사장님: {p1.given}{아} 오늘 {~p1.given} 한 상자 더 들어온다
알바: 네! 택배비는요?
사장님: {r1} 통장 말고 {bank} {p1.account}에서 나갔어. {p1} 이름으로 {p1.address} 보내는 거 잊지 마
=== station-police statement p1=station r1=sibling|spouse|child p2.is=r1
{~p1}역 유실물센터 확인서
습득물 주인 {p1}, 신분증 번호 {p1.rrn}
대신 찾아간 사람: {r1} {p2}, 서명함
보상금 {d.amount}{은} {bank} {p1.account}{으로} 지급
=== hanja-doc handover
족보 편집부에 넘길 것: {p1}({p1.hanja}), {p1.dob.lunar} 출생. 교정지는 {p1.email}{으로} 받고 종이로는 {p1.address}. \
원고료는 {bank} {p1.account}.
=== physio medical
도수치료 8회권 구매
{p1} / {p1.rrn} / 실손 청구 예정
결제 {p1.card} ({d.expiry}) {d.amount}
다음 방문 때 {r1}도 상담 원함. 알림톡 {p1.mobile}
=== allergy medical p2.is=r1
{p1} 환자 (생일 {p1.dob}) 땅콩 두드러기로 내원
{r1}{과} 함께 옴, {r1}의 휴대폰 {p2.mobile}
검사 결과지는 {p2.email}, 다음 예약 {d.day}
=== wifi-install handover r1=parent|elder
설치 기사님께 넘김: 가입자 {p1}({p1.dob}), 전산에는 번호가 {p1.rrn}{으로} 잡혀 있음. 확인 전화는 {p1.tel}, 청구서는 \
{p1.email}. 집에는 {r1}만 계심.
=== seniors columns r1=child p1.age=old p2.age=old p3.age=young p3.is=r1
회원	출생	보호자 메일	결제수단
{p1}	{p1.dob}	{p3.email}	{p1.card}
{p2}	{p2.dob}	{p3.email}	현금
보호자는 {r1} {p3}
"""

NEGATIVE = """
=== lunch chat
[총무] 오늘 점심 회비 {d.fee}씩 걷을게요
[막내] 넵 {d.hour}까지 보낼게요!
=== clinic-hours medical
{clinic} 휴진 안내. {d.day} 오후는 세미나로 진료가 없습니다. 예약 변경은 {d.switchboard}, 접수증 번호 {d.serial} 지참.
=== price columns
품목\t규격\t단가
견출지\tA4\t{d.fee}
토너\t{d.serial}\t{d.amount}
=== masked-chat chat
상담봇: {d.masked_name}님, 등록된 끝번호 {d.masked_phone} 맞으신가요?
고객: 네 맞아요
상담봇: 주문 {d.order} 배송중이에요
=== masked-id statement
기록상 피의자는 {d.masked_name}, 등록번호는 {d.masked_rrn}{으로} 가려져 있어 특정할 수 없었다.
=== bot chat
봇: 빌드 {d.version} 성공 ({d.time})
운영: 굿. {d.surname} 대리님 배포 부탁요
=== waiting medical
지금 {d.count}번째 순서입니다. 대기 {d.count}분, 처방전은 무인기에서 뽑으세요.
=== headline handover
{co}, 자매결연 마을에 쌀 {d.count}포 전달. 기탁식은 {d.date} 본관에서.
=== biz columns
거래처\t사업자번호\t미수금
{co}\t{d.business}\t{d.amount}
{co2}\t{d.business}\t{d.amount}
"""
