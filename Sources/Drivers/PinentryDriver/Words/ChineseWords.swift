extension PromptWords {
    /// The sentences in Chinese, in simplified characters.
    static let chinese = PromptWords(
        language: "zh",
        sentences: [
            "Enter the keychain's passcode first, then touch the sensor": "请先输入钥匙串密码，再触摸传感器",
            "Enter the keychain's passcode: the first time here, a finger is not enough":
                "请输入钥匙串密码：首次在此处使用时，仅用手指还不够",
            "Enter the keychain's passcode": "请输入钥匙串密码",
            "Enter the passcode to unlock the keychain": "请输入密码以解锁钥匙串",
            "Touch the fingerprint sensor": "请触摸指纹传感器",
            "Touch the fingerprint sensor, or enter the keychain's passcode": "请触摸指纹传感器，或输入钥匙串密码",
            "Enter the keychain's present passcode": "请输入钥匙串的当前密码",
            "Enter the keychain's passcode to move its key to this machine's TPM": "请输入钥匙串密码，以将其密钥移到本机的 TPM",
            "Enter the keychain's passcode to replace its recovery code": "请输入钥匙串密码以更换恢复码",
            "Enter the keychain's passcode to back it up": "请输入钥匙串密码以进行备份",
            "Enter the keychain's passcode to merge the backup into it": "请输入钥匙串密码以合并备份",
            "Enter the keychain's passcode to accept its items as they are now": "请输入钥匙串密码，以接受其项目的现状",
            "Enter the keychain's passcode to see what is wrong with its items": "请输入钥匙串密码，以查看其项目的问题",
            "Choose a passcode for the keychain": "请为钥匙串选择密码",
            "Choose a new passcode for the keychain": "请为钥匙串选择新密码",
            "Choose a passcode for the keychain on this machine": "请为本机的钥匙串选择密码",
            "at least % characters, or five words, because the TPM allows ten guesses":
                "至少 % 个字符或五个单词，因为 TPM 允许猜十次",
            "at least % characters, or five words, because without a TPM nothing limits guesses":
                "至少 % 个字符或五个单词，因为没有 TPM 就不限猜测次数",
            "A passcode has at least % characters, or five words, because the TPM allows ten guesses.":
                "密码至少有 % 个字符或五个单词，因为 TPM 允许猜十次。",
            "A passcode has at least % characters, or five words, because without a TPM nothing limits guesses.":
                "密码至少有 % 个字符或五个单词，因为没有 TPM 就不限猜测次数。",
            "Too short: use at least % characters, or five words.": "太短：请使用至少 % 个字符或五个单词。",
            "Too long: use at most % bytes.": "太长：最多使用 % 个字节。",
            "It has a character that cannot be typed again.": "其中有无法再次输入的字符。",
            "Digits alone are guessed too soon on this machine. Add words.": "在本机上，纯数字很快就会被猜出。请加上单词。",
            "It is made of very common words or a known phrase. Five unrelated words are good.":
                "由极常见的单词或已知短语组成。五个互不相关的单词为佳。",
            "It repeats itself or follows the keyboard. Use five unrelated words.":
                "有重复或按键盘顺序。请使用五个互不相关的单词。",
            "Write down this recovery code. It alone opens the keychain when the passcode is lost, and it is not shown again.":
                "请写下此恢复码。密码丢失时，只有它能打开钥匙串，并且不再显示。",
            "Write down this new recovery code. It takes the place of the former one once you have typed it back, and it is not shown again.":
                "请写下此新恢复码。重新输入后，它将取代旧码，并且不再显示。",
            "Write down this code for the TPM's lockout. It alone, without its hyphens, resets the lockout before its time, and it is not shown again.":
                "请写下此 TPM 锁定代码。只有它（不含连字符）能提前解除锁定，并且不再显示。",
            "Type the recovery code that you wrote down": "请输入您写下的恢复码",
            "Type the code that you wrote down": "请输入您写下的代码",
            "Type the keychain's recovery code": "请输入钥匙串的恢复码",
            "Type the recovery code of the keychain that is in the export": "请输入导出文件中钥匙串的恢复码",
            "Type the recovery code that the backup was written under": "请输入写入备份时所用的恢复码",
            "That is not the recovery code of this keychain.": "这不是此钥匙串的恢复码。",
            "That is not the recovery code of this export.": "这不是此导出的恢复码。",
            "That is not the recovery code of this backup.": "这不是此备份的恢复码。",
            "That was another code. Compare what you wrote down.": "这是另一个代码。请核对您写下的内容。",
            "That is no recovery code. Compare it with what you wrote down.": "这不是恢复码。请与您写下的内容核对。",
            "This puts the keychain with all its secrets aside, and nothing opens them until its files are put back. Type the words \"start over\" to do it":
                "这会将钥匙串及其全部秘密搁置，放回文件之前无法打开。如要继续，请输入 \"start over\"",
            "These were other words.": "输入的词不对。",
            "Enter the application password of what the program opens. It is not the keychain's passcode.":
                "请输入程序所打开内容的应用密码。它不是钥匙串密码。",
            "Choose an application password for what the program stores. It is needed whenever that is opened, and cannot be recovered.":
                "请为程序存储的内容选择应用密码。每次打开都需要它，且无法恢复。",
            "This is not its application password.": "这不是它的应用密码。",
            "An application password has % to % bytes.": "应用密码为 % 到 % 个字节。",
            "That passcode was wrong before; it was not counted again.": "此密码之前已错误；没有再次计数。",
            "Not tried. Wait % s.": "未尝试。请等待 % 秒。",
            "No passcode looks like that.": "密码不可能是这样。",
            "Wrong passcode. % try left before the keychain closes.": "密码错误。钥匙串关闭前还可尝试 % 次。",
            "Wrong passcode. % tries left before the keychain closes.": "密码错误。钥匙串关闭前还可尝试 % 次。",
            "Wrong passcode. Wait % s. % try left before the keychain closes.":
                "密码错误。请等待 % 秒。钥匙串关闭前还可尝试 % 次。",
            "Wrong passcode. Wait % s. % tries left before the keychain closes.":
                "密码错误。请等待 % 秒。钥匙串关闭前还可尝试 % 次。",
            "Fingers are off until the passcode is entered.": "输入密码之前，手指不可用。",
            "The enrolled fingers have changed: passcode first.": "登记的手指已更改：请先输入密码。",
            "The enrolled fingers have changed.": "登记的手指已更改。",
            "Fingers wait for the passcode: it is due every three days, and after two days without use.":
                "手指需等待密码：每三天以及两天未使用后需要输入。",
            "The fingerprint sensor has not answered yet; the passcode is accepted now.":
                "指纹传感器尚未应答；现在可输入密码。",
            "The sensor could not read the finger.": "传感器无法读取手指。",
            "No match. % try left.": "不匹配。还可尝试 % 次。",
            "No match. % tries left.": "不匹配。还可尝试 % 次。",
            "The sensor is in use.": "传感器正在使用。",
            "No finger is enrolled.": "没有登记手指。",
            "The fingerprint sensor was disconnected.": "指纹传感器已断开。",
            "The enrolled fingers cannot be checked now.": "现在无法检查登记的手指。",
            "The fingerprint sensor is too weak for this.": "指纹传感器的强度不足。",
            "The fingerprint sensor is not safe to use.": "指纹传感器不安全，不能使用。",
            "The enrolled fingers have changed and do not count yet.": "已登记的手指有变化，暂时不能使用。",
            "The fingerprint sensor cannot be used.": "无法使用指纹传感器。",
            "The swipe was too short. Try again.": "滑动太短。请重试。",
            "Put the finger on the middle of the sensor.": "请将手指放在传感器中央。",
            "Lift the finger, then touch again.": "请抬起手指，然后再触摸。",
            "The finger could not be read. Try again.": "无法读取手指。请重试。",
            "Passcode:": "密码：",
            "Recovery code:": "恢复码：",
            "Code:": "代码：",
            "Words:": "词：",
            "Application password:": "应用密码：",
            "Again:": "再次：",
            "Type it again, to be sure": "请再输入一次以确认",
            "Strength:": "强度：",
            "The two are not the same.": "两次输入不一致。",
            "OK": "好",
            "Cancel": "取消",
            "Next": "下一个",
            "Keep Waiting": "继续等待",
            "Use Passcode\u{2026}": "使用密码\u{2026}",
            "Another Way\u{2026}": "其他方式\u{2026}",
            "Another way: % of %.": "其他方式：第 % 个，共 % 个。",
            "Touch the fingerprint sensor.": "请触摸指纹传感器。",
            "Touch the fingerprint sensor, or type the passcode.": "请触摸指纹传感器，或输入密码。",
            "What was typed before this prompt was discarded.": "此提示出现前的输入已丢弃。",
            "One more request waits for the same.": "还有一个请求在等待。",
            "% more requests wait for the same.": "还有 % 个请求在等待。",
            "Requested by ": "请求者：",
            "Started by ": "启动者：",
            "Its title: ": "其标题：",
            "Its subtitle: ": "其副标题：",
            "Reason it gives: ": "给出的原因：",
        ]
    )
}
