"""The words by which the rules recognise what a sentence is: a decision, a preference, a correction, a thing to do.

One pattern per cue, three languages in it. Chinese and Japanese are written without spaces, so their alternatives match
anywhere; English ones match whole words. Every repetition is bounded, so matching stays linear in the text.
"""

import re
from typing import Final


def _cue(english: str, chinese: str, japanese: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z])(?:{english})(?![A-Za-z])|{chinese}|{japanese}", re.IGNORECASE)


DECISION: Final = _cue(
    r"decided|decision|we(?:'ll| will) (?:use|go|keep|switch|ship|take|run)|i(?:'ll| will) (?:use|go with)|"
    r"let's (?:use|go with|switch)|go(?:ing)? with|chose|chosen|picked|settled on|agreed|committed to|"
    r"instead of|rather than|switch(?:ed|ing)? to|opted|approved|signed off|from now on|the plan is|"
    r"must (?:not )?be (?!so |such |a |tough|hard|great|nice|fun|awesome|amazing|cool)",
    r"决定|确定[了用为]|选定|选择了|选了|敲定|商定|约定|同意|采用|改用|改成|换成|就用|不再用|统一用|定为|定在|批准|拍板",
    r"決め(?:た|ました)|決定|にします|にすること|採用|選んだ|選びました|合意|切り替え|変更(?:した|しました|する)",
)
REASON: Final = _cue(
    r"because|so that|due to|the reason|that's why", r"因为|由于|原因是|为了", r"のため|ので、|理由は|だから"
)
PREFERENCE: Final = _cue(
    r"(?:i|we|he|she|they)(?:'d| would| really| also| always| absolutely| totally| still| do){0,2} "
    r"(?:prefer|like|love|hate|dislike|enjoy|adore|can't stand|cannot stand)(?! (?:that|it|this|how|your|the way|"
    r"to see|to hear))|my fav|fav(?:ou?rite)?s?|"
    r"(?:always|never|don't|do not|please) (?:use|add|write|change|touch|call|send|commit|push|include|answer|reply)|"
    r"allergic|vegetarian|vegan|passionate about|(?:big|huge) fan of",
    r"喜欢|偏好|最爱|讨厌|习惯用|习惯于|爱好|请务必|请始终|请不要|请别|不要(?:用|使用|改|加|碰)|别(?:用|改|加|碰)|"
    r"过敏|吃素|忌口|总是用|一律",
    r"好き|嫌い|好み|お気に入り|ほうがいい|方がいい|アレルギー|必ず|使わないで|変えないで|入れないで",
)
IDENTITY: Final = _cue(
    r"my name is|call me|i'm (?:an?|from|the)|i am (?:an?|from|the)|i work|we work|we (?:use|run)|i live|we live|"
    r"born|birthday|"
    r"anniversary|married|engaged|divorced|pregnant|single parent|diagnosed|roots|home country|"
    r"my (?:wife|husband|partner|son|daughter|mother|mom|mum|father|dad|brother|sister|kids?|children|dogs?|cats?|"
    r"boss|team|friends?|family|grandma|grandmother|grandpa|company|job|car|house|phone|necklace|hometown|mentors?)",
    r"我叫|我是|我在.{1,12}(?:工作|上班|住|读|学)|住在|来自|出生|生日|结婚|毕业|负责|"
    r"我(?:的)?(?:妻子|丈夫|太太|先生|儿子|女儿|妈妈|爸爸|母亲|父亲|哥哥|姐姐|弟弟|妹妹|孩子|老板|团队|公司|朋友|狗|猫)",
    r"名前は|と申します|住んで|働いて|勤めて|出身|生まれ|誕生日|結婚|卒業|担当|"
    r"(?:妻|夫|息子|娘|母|父|兄|姉|弟|妹|子ども|上司|会社|友人|犬|猫)(?:は|が|の|と)",
)
EVENT: Final = _cue(
    r"(?:i|we|he|she|they|[a-z]{2,20})(?:'ve| have| had| just| also| finally| recently| already| even){0,2} "
    r"(?:went|got|started|joined|bought|moved|passed|signed|finished|ran|won|made|met|visited|took|gave|painted|"
    r"learned|learnt|applied|adopted|graduated|launched|released|deployed|built|wrote|read|saw|hired|sold|lost|found|"
    r"created|set up|booked|scheduled|received|paid|sent|opened|volunteered|organi[sz]ed|planned|shared|helped|"
    r"signed up|been)",
    r"(?:买|搬|去|完成|上线|发布|部署|开始|加入|通过|获得|赢|写|参加|报名|申请|预订|预约|付|收到|见|学|做|拿)(?:了|过|到)",
    r"(?:買|行|始|入|終|作|書|参加|申し込|予約|届|公開|リリース|引っ越)[ぁ-ん]{0,4}(?:た|ました)",
)
TIME: Final = _cue(
    r"\d{4}-\d\d-\d\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? \d{1,4}|"
    r"\d{1,2}(?:st|nd|rd|th)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|tomorrow|tonight|last (?:night|week|weekend|month|year|"
    r"summer)|"
    r"next (?:week|weekend|month|year|summer)|this (?:week|weekend|month|year|summer)|"
    r"(?:\d+|a|an|two|three|four|five|few) (?:day|week|month|year)s? ago|(?:in|since|until|by) \d{4}|\d{1,2}:\d\d|"
    r"deadline",
    r"\d{2,4}\s?年|\d{1,2}\s?月\s?\d{1,2}\s?[日号]|昨天|前天|明天|后天|上周|下周|上个月|下个月|去年|今年|明年|周[一二三四五六日末]|星期[一二三四五六日天]|截止",
    r"昨日|一昨日|明日|明後日|先週|来週|先月|来月|来年|[月火水木金土日]曜|締め切り|締切",
)
NUMBER: Final = _cue(
    r"[$€£¥]\s?\d[\d,.]*|\d[\d,.]*\s?(?:%|percent|ms|kb|mb|gb|tb|km|kg|miles?|hours?|minutes?|seconds?|days?|"
    r"weeks?|months?|"
    r"years?|kids?|children|people|times?|dollars?|euros?|users?|rows?)|v?\d+\.\d+(?:\.\d+)?|\d{2,}|"
    r"(?:two|three|four|five|six|seven|eight|nine|ten) (?:years?|months?|weeks?|kids?|children|days?|people|times)",
    r"\d[\d.]*\s?(?:元|块|万|亿|个|人|次|天|周|岁|公里|公斤|分钟|小时|秒|毫秒|页|台|套|章|条|张|行)|"
    r"[一二三四五六七八九十百千两]{1,4}(?:元|个|人|次|天|年|岁|周|公里|小时|分钟|台|套)|[¥￥]\s?\d",
    r"\d[\d.]*\s?(?:円|個|人|回|日|週間|歳|時間|分|秒|ページ|件|台)",
)
QUOTED: Final = re.compile(r"[\"“「『《][^\"”」』》\n]{2,60}[\"”」』》]|`[^`\n]{2,80}`")
NAME: Final = re.compile(
    r"(?<=[a-z,;:] )[A-ZÀ-ÞА-Я][\w'-]+|[A-Z]{2,}[A-Za-z0-9]*|"
    r"(?<=[\u3040-\u30ff\u4e00-\u9fff])\s?[A-Za-z][\w.+#-]{1,30}"
)
SMALL_TALK: Final = re.compile(
    r"(?:wow|how (?:are|have) you|how's (?:it|everything|life)|what's (?:up|new)|hey|hi|hello|thank|great|cool|"
    r"awesome|nice|sounds|sure|ok|okay|no problem|you're (?:welcome|so|such|"
    r"right|doing)|"
    r"good (?:morning|evening|to see|to hear|luck|for you)|long time no|talk (?:to you )?(?:soon|later)|bye|"
    r"see you|take care|"
    r"congrat|that'?s (?:so |really |very |pretty |such )?(?:an? )?(?:great|cool|awesome|nice|sweet|amazing|"
    r"wonderful|"
    r"fantastic|inspiring|true|good|lovely|incredible|tough|awful)|that (?:sounds|must|is (?:so|really))|"
    r"i'm (?:so |really |very )?(?:glad|happy|proud|sorry|excited) (?:for|to hear|you|of|about that)|"
    r"totally|absolutely|exactly|for sure|definitely|glad (?:you|to)|(?:your|it) (?:\w+ )?(?:looks?|sounds?)|"
    r"can't wait to (?:see|hear)|"
    r"keep (?:it )?up|let me know|you (?:should|can|could|deserve|got this|nailed|rock))(?![a-z])"
    r"|你好|您好|最近怎么样|好久不见|怎么样|嗨|谢谢|好的|好吧|没问题|不客气|再见|哈哈|嗯|早上好|晚上好|太好了|太棒|真棒|真不错|明白了|收到|辛苦|加油|恭喜"
    r"|こんにちは|お元気|久しぶり|お久しぶり|おはよう|こんばんは|ありがとう|了解|わかりました|承知|はい|すごい|よかった|お疲れ|おめでとう",
    re.IGNORECASE,
)
LEADING_INTERJECTION: Final = re.compile(
    r"(?:(?:yeah|yep|yes|well|wow|oh|so|and|but|also|haha|hey|hi|hello|thanks|ok|okay|sure|aw|hmm|anyway|btw|"
    r"by the way)"
    r"(?: (?:[A-Z][a-z]+))?[,!.]+\s+){1,3}"
    r"|(?:嗯|哦|啊|对|好|好的|收到|明白|那|那么|另外|对了)[，,]\s?|(?:はい|ええ|では|あと|ちなみに|了解です)、\s?",
    re.IGNORECASE,
)
VAGUE_START: Final = re.compile(
    r"(?:it|this|that|these|those|they|there|he|she|which|so|and|but)(?:'s|'re|'ll)?\s|这|那|它|他|她|これ|それ|あれ",
    re.IGNORECASE,
)
REQUEST: Final = _cue(
    r"(?:can|could|would|will) you|please|help (?:me|us)|i(?:'d| would) like|i (?:want|need)|we (?:want|need)|let's|"
    r"how (?:do|can|should) (?:i|we)",
    r"请(?:你|您|帮|把|给|先|用|在|再|不要|别|务必|注意|告诉|写|做|看|查|确认|改|生成|解释|列|总结|翻译|介绍|分析|检查|设计|实现|整理)|帮我|帮忙|麻烦[你您]|我想|我要|我需要|"
    r"我们要|我们想|我们需要|能不能|能否|可以帮|怎么(?:做|办|写|改|用|解决|实现|配置|处理|才能|设置)|如何",
    r"[てで]ください|[てで]下さい|[てで]ほしい|お願い|たいです|たいと思|教えて|手伝って|どうやって|どうすれば",
)
IMPERATIVE: Final = re.compile(
    r"(?:add|build|write|create|fix|make|set up|implement|design|plan|migrate|move|refactor|review|find|explain|"
    r"compare|"
    r"summari[sz]e|translate|draft|update|remove|replace|test|debug|investigate|show (?!me when)|check (?!out)|"
    r"port|convert|"
    r"organi[sz]e|book|"
    r"prepare|tell|list|describe|suggest|recommend|analy[sz]e|clean up|rename|document|optimi[sz]e|deploy|"
    r"research|schedule)\s",
    re.IGNORECASE,
)
GOAL: Final = _cue(
    r"(?:my|our|the) (?:\w+ )?(?:goal|aim|objective|dream|target)s?|hop(?:e|ing) to|plan(?:s|ning)? (?:to|on)|"
    r"trying to|"
    r"working on|(?:i|we) (?:want|need|wanna)|i(?:'d| would) (?:like|love) to|keen on|dream of|gonna|(?:i'm|we're|"
    r"i am|we are) going to|"
    r"thinking (?:of|about)|looking (?:into|for)|has to|have to|must(?! have| be (?:so|such|a|tough|hard|great|"
    r"nice|fun))|"
    r"should (?:be|support|work|handle)|"
    r"requirement|aiming|"
    r"in order to|saving up|researching",
    r"目标|希望|打算|计划|想要|我想|我们想|需要|必须|要求|准备|争取|为了|应该(?:支持|能|可以)",
    r"目標|目的|つもり|予定|たいです|たいと思|必要|しなければ|計画|目指",
)
TODO: Final = _cue(
    r"todo|to-do|fixme|still (?:need|needs|have to|has to|missing|open|fails?|failing|broken|unclear|waiting|"
    r"unknown|to do)|"
    r"not yet|don't forget|remember to|remind me to|needs? to be (?:\w+ed|done|built|written|set|sent)|(?:haven't|"
    r"hasn't) (?:decided|figured|fixed|"
    r"finished|tested|heard back|started|checked|merged|deployed|arrived)|pending|blocked|blocker|blocking|"
    r"waiting (?:for|on)|unresolved|unclear|open (?:question|issue)|to be (?:decided|done|confirmed)|tbd|"
    r"follow(?:-| )up|"
    r"at risk|(?:one|another|main|biggest?|the) risk|risk(?: is| of| that|:)|(?:has|have) not been|"
    r"don't know (?:yet|how|why|what|if|whether)|not sure (?:yet|how|why|"
    r"what|whether|if)|undecided|(?:not|no|don't|doesn't|haven't|hasn't|isn't) (?:\w+ ){1,6}yet",
    r"待办|待定|待确认|还没|尚未|还需要|还要|还差|未解决|没解决|未完成|不确定|不清楚|不知道|等待|等着|卡在|卡住|阻塞|风险|别忘|记得要|"
    r"记得(?:把|给|在)|稍后再|回头再|需要确认|有待",
    r"まだ|未定|未完了|未解決|要確認|確認待ち|待ち|わからない|分からない|不明|忘れず|忘れないで|リスク|課題|残って",
)
RESOLUTION: Final = _cue(
    r"fixed|solved|resolved|done|finished|completed|works? now|working now|sorted|closed|answered|decided|"
    r"confirmed|merged|"
    r"shipped|deployed|passed|passes|turned out|turns out|figured out|submitted|no longer|got it working|"
    r"found (?:it|out|the)|the answer is",
    r"解决了|已解决|修好|修复|搞定|完成了|已完成|弄好|可以了|正常了|确认了|已确认|定下来|通过了|已经|答案是|查到了",
    r"解決|直った|直りました|直しました|完了|終わった|終わりました|できました|修正(?:した|しました|済)|確認(?:した|できました|済)|決ま(?:った|りました)",
)
NEXT: Final = _cue(
    r"i'll|i will|we'll|we will|next (?:step|up|i|we)|tomorrow|tonight|gonna|(?:i'm|we're|i am|"
    r"we are) (?:going to|off to|about to)|"
    r"plan(?:ning)? to|later today|then (?:i|we)",
    r"接下来|下一步|明天|之后|准备|打算|我会|我们会|然后我",
    r"次に|次は|明日|予定|つもり|これから|あとで",
)
UNKNOWN: Final = _cue(
    r"(?:i )?don't know|not sure|no idea|let me (?:check|think|look)|i'll (?:check|ask|find out|get back)|"
    r"good question",
    r"不知道|不确定|不清楚|我查一下|让我想想|我问一下|回头告诉",
    r"わかりません|分かりません|知りません|確認します|調べます|聞いてみます",
)
CORRECTION: Final = _cue(
    r"i meant|correction|that(?:'s| is|'s not| is not) (?:wrong|right|incorrect|correct)|my (?:bad|mistake)|"
    r"by mistake|"
    r"i was wrong|you(?:'re| are) wrong|misread|misunderstood|misspelled|typo|not (?!just|only)[\w .:/'-]{1,40}, but|"
    r"it should(?: have)? be(?:en)?|"
    r"should(?: have)? be(?:en)? [\w .:/'-]{1,40},? (?:not|instead)|(?:no|actually|sorry), (?:it|that|not|the|use|"
    r"we|i|make)(?:'s)?",
    r"不对|错了|搞错|写错|弄错|记错|说错|误解|更正|纠正|应该是|不是.{1,20}[，,]?(?:而)?是|其实是|改正",
    r"間違(?:え|い|って)|違います|ではなく|じゃなくて|訂正|誤り|誤解|正しくは",
)
FAILURE: Final = _cue(
    r"(?<!trial and )errors?|exception|traceback|fail(?:ed|s|ing|ure)|crash(?:ed|es|ing)?|bug|broken|doesn't work|"
    r"didn't work|"
    r"not working|"
    r"wrong|incorrect|mistake|timed out|timeout|regression|rolled back|reverted|permission denied|access denied|"
    r"connection refused|out of memory|[A-Z]\w{2,30}(?:Error|Exception)|status 5\d\d|http 5\d\d",
    r"错误|报错|异常|失败|崩溃|出错|无法|不能用|不工作|坏了|超时|回滚|被拒|漏了|缺陷",
    r"エラー|例外|失敗|クラッシュ|動かない|動きません|壊れ|タイムアウト|バグ|不具合",
)
