extension PromptWords {
    /// The sentences in Japanese.
    static let japanese = PromptWords(
        language: "ja",
        sentences: [
            "Enter the keychain's passcode first, then touch the sensor":
                "先にキーチェーンのパスコードを入力し、次にセンサーに触れてください",
            "Enter the keychain's passcode: the first time here, a finger is not enough":
                "キーチェーンのパスコードを入力: ここでの初回は指だけでは不十分です",
            "Enter the keychain's passcode": "キーチェーンのパスコードを入力してください",
            "Enter the passcode to unlock the keychain": "パスコードを入力してキーチェーンのロックを解除してください",
            "Touch the fingerprint sensor": "指紋センサーに触れてください",
            "Touch the fingerprint sensor, or enter the keychain's passcode":
                "指紋センサーに触れるか、キーチェーンのパスコードを入力してください",
            "Enter the keychain's present passcode": "キーチェーンの現在のパスコードを入力してください",
            "Enter the keychain's passcode to move its key to this machine's TPM":
                "鍵をこの機器の TPM に移すため、キーチェーンのパスコードを入力してください",
            "Enter the keychain's passcode to replace its recovery code":
                "回復コードを替えるため、キーチェーンのパスコードを入力してください",
            "Enter the keychain's passcode to back it up": "バックアップのため、キーチェーンのパスコードを入力してください",
            "Enter the keychain's passcode to merge the backup into it":
                "バックアップを統合するため、キーチェーンのパスコードを入力してください",
            "Enter the keychain's passcode to accept its items as they are now":
                "項目を現状のまま受け入れるため、キーチェーンのパスコードを入力してください",
            "Enter the keychain's passcode to see what is wrong with its items":
                "項目の問題を調べるため、キーチェーンのパスコードを入力してください",
            "Choose a passcode for the keychain": "キーチェーンのパスコードを決めてください",
            "Choose a new passcode for the keychain": "キーチェーンの新しいパスコードを決めてください",
            "Choose a passcode for the keychain on this machine": "この機器のキーチェーンのパスコードを決めてください",
            "at least % characters, or five words, because the TPM allows ten guesses":
                "TPM は 10 回の推測を許すため、% 文字以上または 5 単語",
            "at least % characters, or five words, because without a TPM nothing limits guesses":
                "TPM がないと推測に制限がないため、% 文字以上または 5 単語",
            "A passcode has at least % characters, or five words, because the TPM allows ten guesses.":
                "TPM は 10 回の推測を許すため、パスコードは % 文字以上または 5 単語です。",
            "A passcode has at least % characters, or five words, because without a TPM nothing limits guesses.":
                "TPM がないと推測に制限がないため、パスコードは % 文字以上または 5 単語です。",
            "Too short: use at least % characters, or five words.": "短すぎます: % 文字以上または 5 単語を使ってください。",
            "Too long: use at most % bytes.": "長すぎます: % バイト以内にしてください。",
            "It has a character that cannot be typed again.": "再入力できない文字があります。",
            "Digits alone are guessed too soon on this machine. Add words.":
                "この機器では数字だけだとすぐに推測されます。単語を加えてください。",
            "It is made of very common words or a known phrase. Five unrelated words are good.":
                "ごく一般的な単語や既知の語句です。無関係な 5 単語がよいでしょう。",
            "It repeats itself or follows the keyboard. Use five unrelated words.":
                "繰り返しかキー配列どおりです。無関係な 5 単語を使ってください。",
            "Write down this recovery code. It alone opens the keychain when the passcode is lost, and it is not shown again.":
                "この回復コードを書き留めてください。パスコードを失うと、これでしか開けません。再表示されません。",
            "Write down this new recovery code. It takes the place of the former one once you have typed it back, and it is not shown again.":
                "この新しい回復コードを書き留めてください。再入力すると以前のものに替わります。再表示されません。",
            "Write down this code for the TPM's lockout. It alone, without its hyphens, resets the lockout before its time, and it is not shown again.":
                "この TPM ロックアウト用コードを書き留めてください。期限前に解除できるのはこれだけです（ハイフンなし）。再表示されません。",
            "Type the recovery code that you wrote down": "書き留めた回復コードを入力してください",
            "Type the code that you wrote down": "書き留めたコードを入力してください",
            "Type the keychain's recovery code": "キーチェーンの回復コードを入力してください",
            "Type the recovery code of the keychain that is in the export": "エクスポート内のキーチェーンの回復コードを入力してください",
            "Type the recovery code that the backup was written under": "バックアップ作成時の回復コードを入力してください",
            "That is not the recovery code of this keychain.": "このキーチェーンの回復コードではありません。",
            "That is not the recovery code of this export.": "このエクスポートの回復コードではありません。",
            "That is not the recovery code of this backup.": "このバックアップの回復コードではありません。",
            "That was another code. Compare what you wrote down.": "別のコードです。書き留めたものと比べてください。",
            "That is no recovery code. Compare it with what you wrote down.":
                "回復コードではありません。書き留めたものと比べてください。",
            "This puts the keychain with all its secrets aside, and nothing opens them until its files are put back. Type the words \"start over\" to do it":
                "キーチェーンと全秘密を退避します。戻すまで開けません。実行するには \"start over\" と入力してください",
            "These were other words.": "違う言葉です。",
            "Enter the application password of what the program opens. It is not the keychain's passcode.":
                "プログラムが開くもののアプリパスワードを入力してください。キーチェーンのパスコードではありません。",
            "Choose an application password for what the program stores. It is needed whenever that is opened, and cannot be recovered.":
                "プログラムが保存するもののアプリパスワードを決めてください。開くたびに必要で、回復できません。",
            "This is not its application password.": "アプリパスワードが違います。",
            "An application password has % to % bytes.": "アプリパスワードは % から % バイトです。",
            "That passcode was wrong before; it was not counted again.": "そのパスコードは先ほども誤りでした。再度は数えません。",
            "Not tried. Wait % s.": "試していません。% 秒お待ちください。",
            "No passcode looks like that.": "パスコードの形式ではありません。",
            "Wrong passcode. % try left before the keychain closes.": "パスコードが違います。あと % 回でキーチェーンは閉じます。",
            "Wrong passcode. % tries left before the keychain closes.": "パスコードが違います。あと % 回でキーチェーンは閉じます。",
            "Wrong passcode. Wait % s. % try left before the keychain closes.":
                "パスコードが違います。% 秒お待ちください。あと % 回でキーチェーンは閉じます。",
            "Wrong passcode. Wait % s. % tries left before the keychain closes.":
                "パスコードが違います。% 秒お待ちください。あと % 回でキーチェーンは閉じます。",
            "Fingers are off until the passcode is entered.": "パスコードを入力するまで指は使えません。",
            "The enrolled fingers have changed: passcode first.": "登録された指が変わりました: 先にパスコードを入力してください。",
            "The enrolled fingers have changed.": "登録された指が変わりました。",
            "Fingers wait for the passcode: it is due every three days, and after two days without use.":
                "指にはパスコードが必要です: 3 日ごと、および 2 日間使わなかった後です。",
            "The fingerprint sensor has not answered yet; the passcode is accepted now.":
                "指紋センサーはまだ応答していません。パスコードは今入力できます。",
            "The sensor could not read the finger.": "センサーが指を読み取れませんでした。",
            "No match. % try left.": "一致しません。あと % 回です。",
            "No match. % tries left.": "一致しません。あと % 回です。",
            "The sensor is in use.": "センサーは使用中です。",
            "No finger is enrolled.": "指が登録されていません。",
            "The fingerprint sensor was disconnected.": "指紋センサーが取り外されました。",
            "The enrolled fingers cannot be checked now.": "登録された指を今は確認できません。",
            "The fingerprint sensor is too weak for this.": "指紋センサーの強度が足りません。",
            "The fingerprint sensor is not safe to use.": "指紋センサーは安全に使えません。",
            "The enrolled fingers have changed and do not count yet.": "登録された指が変わったため、まだ使えません。",
            "The fingerprint sensor cannot be used.": "指紋センサーを使用できません。",
            "The swipe was too short. Try again.": "スワイプが短すぎます。もう一度どうぞ。",
            "Put the finger on the middle of the sensor.": "指をセンサーの中央に置いてください。",
            "Lift the finger, then touch again.": "指を離して、もう一度触れてください。",
            "The finger could not be read. Try again.": "指を読み取れません。もう一度どうぞ。",
            "Passcode:": "パスコード:",
            "Recovery code:": "回復コード:",
            "Code:": "コード:",
            "Words:": "言葉:",
            "Application password:": "アプリパスワード:",
            "Again:": "再入力:",
            "Type it again, to be sure": "確認のため、もう一度入力してください",
            "Strength:": "強度:",
            "The two are not the same.": "二つが一致しません。",
            "OK": "OK",
            "Cancel": "キャンセル",
            "Next": "次へ",
            "Keep Waiting": "待ち続ける",
            "Use Passcode\u{2026}": "パスコードを使う\u{2026}",
            "Another Way\u{2026}": "別の方法\u{2026}",
            "Another way: % of %.": "別の方法: % / %。",
            "Touch the fingerprint sensor.": "指紋センサーに触れてください。",
            "Touch the fingerprint sensor, or type the passcode.": "指紋センサーに触れるか、パスコードを入力してください。",
            "What was typed before this prompt was discarded.": "この画面の前の入力は破棄されました。",
            "One more request waits for the same.": "ほかに 1 件の要求が待っています。",
            "% more requests wait for the same.": "ほかに % 件の要求が待っています。",
            "Requested by ": "要求元: ",
            "Started by ": "起動元: ",
            "Its title: ": "題名: ",
            "Its subtitle: ": "副題: ",
            "Reason it gives: ": "理由: ",
        ]
    )
}
