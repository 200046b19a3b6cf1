"""English first and last names, and foreign names as Korean writes them."""

from __future__ import annotations

from sm_ops.pii.documents.listed import listed

WOMEN = listed(
    """
    Abigail Agnes Alexis Alice Allison Amanda Amber Amelia Andrea Angela Anita Arlene Ashley Audrey Barbara Beatrice
    Beth Beverly Bonnie Brenda Bridget Carla Carmen Carol Caroline Carrie Catherine Cecilia Celeste Charlotte
    Chelsea Cheryl Chloe Claire Claudia Courtney Cynthia Daisy Daphne Deborah Denise Diana Doreen Doris Dorothy
    Edith Eileen Elaine Eleanor Elizabeth Ellen Emily Emma Erin Esther Evelyn Felicity Fiona Florence Frances Gemma
    Georgia Gloria Gwen Hannah Harriet Hazel Heather Helen Hilary Holly Imogen Ingrid Irene Isabel Jacqueline
    Jasmine Jennifer Jessica Joanna Josephine Joyce Judith Juliet Karen Katherine Kelly Kirsten Laura Lauren Leah
    Leslie Lillian Linda Lorraine Louise Lucy Lydia Mabel Margaret Marianne Marion Marjorie Martha Maureen Maxine
    Megan Melanie Melissa Meredith Michelle Mildred Miranda Miriam Molly Monica Muriel Nadia Nancy Naomi Natalie
    Nicole Nina Olivia Pamela Patricia Paula Phoebe Phyllis Priscilla Rachel Rebecca Rhonda Rosalind Rosemary
    Roxanne Ruth Sabrina Samantha Sandra Sarah Selena Shannon Sharon Sheila Shirley Sophie Stacy Stella Stephanie
    Susan Sylvia Tabitha Tamara Tanya Teresa Thelma Tiffany Tracy Valerie Vanessa Vera Veronica Victoria Violet
    Virginia Vivian Wanda Wendy Winifred Yvonne
    """
)
MEN = listed(
    """
    Aaron Adam Adrian Aidan Alan Albert Alfred Andrew Anthony Archie Arthur Austin Barry Benjamin Bernard Blake
    Bradley Brandon Brett Brian Bruce Bryan Caleb Calvin Cameron Carlos Casey Cedric Chad Christopher Clarence
    Clifford Clive Colin Connor Corey Craig Curtis Damian Daniel Darren Declan Dennis Derek Desmond Dominic Donald
    Douglas Duncan Dylan Edgar Edmund Edward Elliot Eric Ethan Eugene Felix Francis Franklin Frederick Gareth
    Garrett Gavin Geoffrey George Gerald Gilbert Glenn Gordon Graham Gregory Harold Harvey Hector Henry Herbert
    Howard Hugh Isaac Ivan Jacob Jeffrey Jeremy Joel Jonathan Joseph Joshua Julian Justin Keith Kenneth Kevin Kyle
    Lance Lawrence Leonard Lewis Liam Lionel Lloyd Logan Lucas Malcolm Marcus Marshall Martin Marvin Matthew Maurice
    Melvin Michael Miles Mitchell Morgan Myron Nathan Neil Nicholas Nigel Norman Oliver Oscar Patrick Percy Peter
    Philip Preston Quentin Ralph Raymond Reginald Richard Robert Roderick Rodney Roger Roland Ronald Rowan Rupert
    Russell Ryan Samuel Scott Sidney Simon Spencer Stanley Stephen Stuart Taylor Terence Theodore Thomas Timothy
    Toby Travis Trevor Tristan Vernon Victor Vincent Walter Warren Wayne Wesley Wilbur William
    """
)
FIRST = [*WOMEN, *MEN]
LAST = listed(
    """
    Abernathy Ackerman Aldridge Alford Appleby Ashworth Atwater Bancroft Barlow Bellamy Bickford Blackwood Bradshaw
    Braithwaite Brockman Burnham Calloway Cartwright Chadwick Channing Clayborne Colbert Copeland Crawley Cromwell
    Dalrymple Danforth Davenport Dearborn Delaney Denholm Dunmore Eastwick Eberhart Ellsworth Elmore Everhart
    Fairbanks Farnsworth Fenwick Fitzroy Fletcher Gainsborough Garfield Gladstone Goodwin Granger Grimshaw Hadley
    Halloway Hargrove Hathaway Hawthorne Heathcote Holbrook Huxley Ingleby Ironside Jardine Jessop Kendrick
    Kensington Kirkland Kittredge Lancaster Langley Lathrop Leighton Lockwood Loxley Mackenzie Maitland Marlowe
    Merriweather Montague Moorcroft Nethercott Newbury Norwood Oakley Ormsby Osgood Pemberton Pendleton Pickering
    Prescott Quimby Radcliffe Ravenscroft Redmond Renfield Rockwell Rutherford Sample Satterfield Sedgwick Sheffield
    Sinclair Somerset Standish Sterling Stockton Stratton Tennyson Thackeray Thornbury Thurston Trelawney Underhill
    Vandermeer Wadsworth Wainwright Wakefield Waverly Weatherby Westbrook Wetherell Whitaker Whitcombe Wickham
    Winslow Winthrop Woodruff Wycliffe Yardley Yarborough
    """
)
# Each item is one whole name: given name first, or the family name first where the language has it so.
IN_HANGUL = (
    """
마리아 산토스|응우옌 티 흐엉|쩐 반 민|왕샤오밍|리웨이|다나카 유키|스즈키 하루토|존 스미스|제니퍼 브라운
알리 하산|파티마 누르|올가 이바노바|드미트리 볼코프|아이굴 사디코바|바트바야르 간조릭|체렝 오윤|라메시 타파
시타 구룽|아르준 샤르마|프리야 나이르|모하메드 칸|아이샤 라흐만|소피아 가르시아|카를로스 멘데스|루시아 페레이라
안나 코발스카|피터 노박|한스 뮐러|클라라 슈미트|마르코 비앙키|줄리아 로마노|피에르 뒤퐁|에밀리 모로|에릭 요한손
잉그리드 라르센|사무엘 오코예|그레이스 음벨레|아마두 디알로|팜 반 롱|레 티 마이|당 티 란|쿠마리 실바|니말 페레라
수파폰 차이야|솜차이 분미|로웨나 크루즈|조엘 레예스|장웨이|류팡|야마모토 켄지|사토 미나미|나탈리아 소콜로바
누르술탄 오마로프|엘레나 포포바|토머스 베이커|레이철 워커|대니얼 쿠퍼|빅토리아 힐|응오 반 득|호 티 응옥
부이 티 투이|저우민|천하오|우마르 유수프|아딜벡 토크타로프|굴나라 아흐메도바|볼드 에르덴|사란 바야르|푸르나 라이
디팍 카르키|라시드 아흐마드|조슈아 프라이스
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
