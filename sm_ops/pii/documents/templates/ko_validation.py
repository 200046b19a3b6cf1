"""Korean templates of the validation partition."""

POSITIVE = """
=== library form p2.is=r1
도서관 회원증 재발급
이름 {p1}, 생년월일 {p1.dob}
집 주소 {p1.address}
연락 가능한 번호 {p1.phone}
대리 수령자 {r1} {p2}
=== refund counselling
환불을 원하시는 {p1} 손님께서 결제하신 카드는 {p1.card}입니다. 카드 취소가 어려우면 {bank} {p1.account}{으로} \
송금해 달라고 하십니다. 안내문은 {p1.email}{으로} 발송했습니다.
=== pension letter
국민연금 담당자께. 저는 {p1}{이라} 하고 등록번호는 {p1.rrn}입니다. 제 {r1}{이} 대신 방문할 예정입니다. 통장은 {bank} \
{p1.account}{을} 써 주세요.
=== groupware email p2.is=r1
{p1} 선임님, 휴가계에 적힌 {r1} 성함이 {p2} 맞는지요? 경조금은 {bank} {p1.account}{으로} 나갑니다. 틀리면 \
{p2.email} 말고 {p1.email}{으로} 알려 주세요. - 총무 {d.surname} 사원
=== pickup delivery
반품 수거 예약 {d.order}
의뢰인: {p1} 010 번호는 {p1.mobile}
수거지: {p1.address}
환불 수단: {p1.card} 승인취소 {d.amount}
=== apartment notice
동대표 선거 후보 등록: 기호 1번 {p1}({p1.dob}생), 기호 2번 {p2}({p2.dob}생). 기호 1번의 {r1}{이} 선거관리위원이라는 \
이의가 들어왔음. 선거공보 받을 곳은 {p1.address}, 후보 문의 {p2.phone}.
=== travel claim p2.is=r1 r1=spouse|sibling
여행자보험 접수
{p1} (주민번호 {p1.rrn}) 님과 동행 {r1} {p2} (주민번호 {p2.rrn}) 님
수하물 파손, 수리 견적 {d.amount}, 결제 카드 {p1.card}
진행 상황은 {p1.email}{으로} 회신
=== internship hr p2.is=r1 r1=parent p1.age=young p2.age=old school=고등학교|대학교
{school} 현장실습생 {p1}{이} {d.date}부터 {co}에서 일합니다. 실습비 통장 {bank} {p1.account}, 기숙사 {p1.address}, \
비상시 {r1} {p2}{과} 통화({p2.mobile}).
=== auction complaint
중고 거래 사기 신고합니다. 판매자는 {p1}{이라} 하고 {bank} {p1.account}{으로} {d.amount}{을} 받아 갔어요. 전화 \
{p1.mobile}{은} 꺼져 있습니다. 저는 {p2}, 생일은 {p2.dob}, 메일은 {p2.email}입니다.
=== rental bank r1.of=p2
렌터카 보증금 결제자 {p1}, 카드 {p1.card} 만료 {d.expiry}. 운전자 {p2}{은} {p2.dob}생이며 면허 확인을 마쳤음. \
사고가 나면 {r1} 아닌 {p1} 님 {p1.mobile}{으로} 먼저 연락.
=== nanum letter
{p1} 선생님께. 지난번 김장 나눔에 오신 {f1} 님이 또 돕고 싶다고 하십니다. 등록번호는 {f1.rrn.foreign}, 사는 곳은 \
{f1.address}입니다. 선생님 {r1}께도 안부 전해 주세요.
=== bakery memo r1=parent r1.of=p2
단체 주문 메모: {p1} 원장님네 유치원, 생일 맞은 {p2} 어린이 것까지 {d.count}개. {p1} 원장님의 번호는 {p1.phone}, \
배달은 {p1.address}. {p2}의 {r1}도 오신다니 접시를 넉넉히.
"""

NEGATIVE = """
=== parking notice
지하 2층 주차 요금은 10분당 {d.small}입니다. 정산기 고장 신고는 {d.switchboard}{으로} 해 주세요.
=== receipt form
현금영수증 (자진발급)
가맹점 {co} / 사업자 {d.business}
합계 {d.amount} / 승인 {d.serial}
=== masked counselling
콜백 요청 1건: {d.masked_name} ({d.masked_phone}). 실제 값은 보안 구역에서 조회 바람.
=== statistics report
올해 접수된 민원은 모두 {d.count}건으로 작년보다 줄었다. 평균 처리 기간은 {d.count}일이었다.
=== firmware guide
공유기 펌웨어 {d.version} 이상에서만 작동합니다. 뒷면 일련번호 {d.serial}{을} 앱에 입력하세요.
=== manager memo
{d.surname} 팀장님 지시로 {d.day} 회의를 {d.hour}{으로} 옮깁니다. 자료는 공용 폴더에 있어요.
=== example letter
봉투에는 '홍길동 귀하'처럼 받는 이를 쓰고 우편번호 다섯 자리를 빠뜨리지 마십시오.
=== brothers news
형제 기업으로 알려진 {co}{과} {co2}{은} 지분 관계가 없다고 밝혔다. 공시일은 {d.date}이다.
"""
