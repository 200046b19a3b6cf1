"""Lines that repeat a name or a number in another spelling: @ is the spelling, # the number's label."""

TEXT = """
=== train spaced
※ 제출 서류상 성명: @
(스캔본에는 @{으로} 띄어 적혀 있음)
자필 서명란 기재: @
신분증 앞면 이름란 판독 결과 @
원본 하단 서명 - @
=== train gap
등록 화면에는 @{으로} 입력되어 있습니다.
[시스템 비고] 성/이름 분리 저장값 @
통장 사본 예금주란은 @ 표기
메일 서명은 @ 드림 형식
=== train separators
(문자 발송용 # 입력값 @)
같은 #의 전산 표기: @
엑셀 원본 열에는 # 값이 @{으로} 저장됨
중복 확인한 # @
=== train fullwidth
구 전산 출력물 # @
팩스 수신본의 # 칸: @
전각 문자로 들어온 # → @
=== train wrapped
첨부 PDF에서 옮긴 #{은} @이며 줄이 나뉘어 있습니다.
한글 문서 표 안의 # @ (칸이 좁아 줄바꿈됨)
=== train marker
지난번 가명처리 결과에는 @ 자리로 표시됨.
(비식별본 참고: @ 관련 건)
이전 버전 문서의 @ 표시는 그대로 둘 것
=== validation spaced
주민센터 발급본 성명 칸은 @ 이렇게 벌려 씀
도장 옆 이름: @
=== validation gap
회원DB 이름 필드 값은 @입니다
명찰 인쇄 요청: @
=== validation separators
추가로 받은 #도 동일함: @
# 재입력 @
=== validation fullwidth
옛 양식의 # 란 @
대장에 적힌 # @
=== validation wrapped
인쇄 과정에서 #{이} @처럼 끊겼습니다
붙여넣기 원문 #: @
=== validation marker
가림 처리본 표시 @ 와 대조 완료
메모: @ 건과 같은 사람인지 모름
=== test spaced
수기 접수증에는 [@] 라고 간격을 두어 쓰셨어요
증명서 이름 표기 방식 » @
직인 왼쪽에 @ (인)
=== test gap
카드 신청 이름칸 띄어쓰기 그대로 @
진단서 쪽 이름은 @, 성과 이름 사이 한 칸
예매자명 조회값 = @
=== test separators
고객이 다시 불러 준 #{은} @
다른 화면에서 본 #: @ (동일)
# 복사값 @ 확인요망
=== test fullwidth
일본어 입력기로 친 # @ 주의
단말 화면의 # 【@】
=== test wrapped
출력물 오른쪽 여백 때문에 #{이} @{으로} 잘림
문서 뷰어에서 긁은 # 값 @ 참고
=== test marker
앞 상담 로그엔 @ 꼴로만 남아 있어요
@ 는 예전 마스킹 흔적이니 무시하세요
"""
