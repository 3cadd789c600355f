extension PromptWords {
    /// The sentences in Turkish.
    static let turkish = PromptWords(
        language: "tr",
        sentences: [
            "Enter the keychain's passcode first, then touch the sensor":
                "Önce anahtarlığın parolasını girin, sonra okuyucuya dokunun",
            "Enter the keychain's passcode: the first time here, a finger is not enough":
                "Anahtarlığın parolasını girin: burada ilk seferde parmak yetmez",
            "Enter the keychain's passcode": "Anahtarlığın parolasını girin",
            "Enter the passcode to unlock the keychain": "Anahtarlığı açmak için parolayı girin",
            "Touch the fingerprint sensor": "Parmak izi okuyucuya dokunun",
            "Touch the fingerprint sensor, or enter the keychain's passcode":
                "Parmak izi okuyucuya dokunun veya anahtarlığın parolasını girin",
            "Enter the keychain's present passcode": "Anahtarlığın şimdiki parolasını girin",
            "Enter the keychain's passcode to move its key to this machine's TPM":
                "Anahtarı bu makinenin TPM'ine taşımak için anahtarlığın parolasını girin",
            "Enter the keychain's passcode to replace its recovery code":
                "Kurtarma kodunu değiştirmek için anahtarlığın parolasını girin",
            "Enter the keychain's passcode to back it up": "Yedeklemek için anahtarlığın parolasını girin",
            "Enter the keychain's passcode to merge the backup into it":
                "Yedeği eklemek için anahtarlığın parolasını girin",
            "Enter the keychain's passcode to accept its items as they are now":
                "Öğelerini şimdiki haliyle kabul etmek için anahtarlığın parolasını girin",
            "Enter the keychain's passcode to see what is wrong with its items":
                "Öğelerindeki sorunu görmek için anahtarlığın parolasını girin",
            "Choose a passcode for the keychain": "Anahtarlık için bir parola seçin",
            "Choose a new passcode for the keychain": "Anahtarlık için yeni bir parola seçin",
            "Choose a passcode for the keychain on this machine":
                "Bu makinedeki anahtarlık için bir parola seçin",
            "at least % characters, or five words, because the TPM allows ten guesses":
                "TPM on tahmine izin verdiği için en az % karakter veya beş sözcük",
            "at least % characters, or five words, because without a TPM nothing limits guesses":
                "TPM olmadan tahminler sınırsız olduğu için en az % karakter veya beş sözcük",
            "A passcode has at least % characters, or five words, because the TPM allows ten guesses.":
                "TPM on tahmine izin verdiği için parola en az % karakter veya beş sözcüktür.",
            "A passcode has at least % characters, or five words, because without a TPM nothing limits guesses.":
                "TPM olmadan tahminler sınırsız olduğu için parola en az % karakter veya beş sözcüktür.",
            "Too short: use at least % characters, or five words.":
                "Çok kısa: en az % karakter veya beş sözcük kullanın.",
            "Too long: use at most % bytes.": "Çok uzun: en çok % bayt kullanın.",
            "It has a character that cannot be typed again.": "Yeniden yazılamayacak bir karakter içeriyor.",
            "Digits alone are guessed too soon on this machine. Add words.":
                "Bu makinede yalnızca rakamlar çok çabuk tahmin edilir. Sözcük ekleyin.",
            "It is made of very common words or a known phrase. Five unrelated words are good.":
                "Çok yaygın sözcüklerden veya bilinen bir deyişten oluşuyor. Beş ilgisiz sözcük iyidir.",
            "It repeats itself or follows the keyboard. Use five unrelated words.":
                "Kendini tekrarlıyor veya klavyeyi izliyor. Beş ilgisiz sözcük kullanın.",
            "Write down this recovery code. It alone opens the keychain when the passcode is lost, and it is not shown again.":
                "Bu kurtarma kodunu yazın. Parola kaybolursa anahtarlığı yalnızca o açar ve bir daha gösterilmez.",
            "Write down this new recovery code. It takes the place of the former one once you have typed it back, and it is not shown again.":
                "Bu yeni kurtarma kodunu yazın. Geri yazınca öncekinin yerini alır ve bir daha gösterilmez.",
            "Write down this code for the TPM's lockout. It alone, without its hyphens, resets the lockout before its time, and it is not shown again.":
                "TPM kilidi için bu kodu yazın. Kilidi zamanından önce yalnızca o, tiresiz yazılınca kaldırır; bir daha gösterilmez.",
            "Type the recovery code that you wrote down": "Yazdığınız kurtarma kodunu girin",
            "Type the code that you wrote down": "Yazdığınız kodu girin",
            "Type the keychain's recovery code": "Anahtarlığın kurtarma kodunu girin",
            "Type the recovery code of the keychain that is in the export":
                "Dışa aktarmadaki anahtarlığın kurtarma kodunu girin",
            "Type the recovery code that the backup was written under":
                "Yedeğin yazıldığı kurtarma kodunu girin",
            "That is not the recovery code of this keychain.": "Bu, bu anahtarlığın kurtarma kodu değil.",
            "That is not the recovery code of this export.": "Bu, bu dışa aktarmanın kurtarma kodu değil.",
            "That is not the recovery code of this backup.": "Bu, bu yedeğin kurtarma kodu değil.",
            "That was another code. Compare what you wrote down.":
                "Bu başka bir koddu. Yazdığınızla karşılaştırın.",
            "That is no recovery code. Compare it with what you wrote down.":
                "Bu bir kurtarma kodu değil. Yazdığınızla karşılaştırın.",
            "This puts the keychain with all its secrets aside, and nothing opens them until its files are put back. Type the words \"start over\" to do it":
                "Anahtarlık tüm sırlarıyla kenara konur; dosyaları geri konana dek açılmaz. Bunun için \"start over\" yazın",
            "These were other words.": "Bunlar başka sözcüklerdi.",
            "Enter the application password of what the program opens. It is not the keychain's passcode.":
                "Programın açtığı öğenin uygulama parolasını girin. Anahtarlığın parolası değildir.",
            "Choose an application password for what the program stores. It is needed whenever that is opened, and cannot be recovered.":
                "Programın sakladığı için bir uygulama parolası seçin. Her açılışta gerekir ve kurtarılamaz.",
            "This is not its application password.": "Bu, onun uygulama parolası değil.",
            "An application password has % to % bytes.": "Uygulama parolası % ile % bayt arasındadır.",
            "That passcode was wrong before; it was not counted again.":
                "Bu parola daha önce de yanlıştı; yeniden sayılmadı.",
            "Not tried. Wait % s.": "Denenmedi. % sn bekleyin.",
            "No passcode looks like that.": "Hiçbir parola böyle olamaz.",
            "Wrong passcode. % try left before the keychain closes.":
                "Yanlış parola. Anahtarlık kapanmadan % deneme kaldı.",
            "Wrong passcode. % tries left before the keychain closes.":
                "Yanlış parola. Anahtarlık kapanmadan % deneme kaldı.",
            "Wrong passcode. Wait % s. % try left before the keychain closes.":
                "Yanlış parola. % sn bekleyin. Anahtarlık kapanmadan % deneme kaldı.",
            "Wrong passcode. Wait % s. % tries left before the keychain closes.":
                "Yanlış parola. % sn bekleyin. Anahtarlık kapanmadan % deneme kaldı.",
            "Fingers are off until the passcode is entered.": "Parola girilene dek parmaklar kapalı.",
            "The enrolled fingers have changed: passcode first.": "Kayıtlı parmaklar değişti: önce parola.",
            "The enrolled fingers have changed.": "Kayıtlı parmaklar değişti.",
            "Fingers wait for the passcode: it is due every three days, and after two days without use.":
                "Parmaklar parolayı bekliyor: üç günde bir ve iki gün kullanılmayınca gerekir.",
            "The fingerprint sensor has not answered yet; the passcode is accepted now.":
                "Parmak izi okuyucu henüz yanıt vermedi; parola şimdi kabul edilir.",
            "The sensor could not read the finger.": "Okuyucu parmağı okuyamadı.",
            "No match. % try left.": "Eşleşmedi. % deneme kaldı.",
            "No match. % tries left.": "Eşleşmedi. % deneme kaldı.",
            "The sensor is in use.": "Okuyucu kullanımda.",
            "No finger is enrolled.": "Kayıtlı parmak yok.",
            "The fingerprint sensor was disconnected.": "Parmak izi okuyucunun bağlantısı kesildi.",
            "The enrolled fingers cannot be checked now.": "Kayıtlı parmaklar şu anda denetlenemiyor.",
            "The fingerprint sensor is not safe to use.": "Parmak izi okuyucuyu kullanmak güvenli değil.",
            "The enrolled fingers have changed and do not count yet.":
                "Kayıtlı parmaklar değişti ve henüz geçerli değil.",
            "The fingerprint sensor is too weak for this.":
                "Parmak izi okuyucu bunun için yeterince güçlü değil.",
            "The fingerprint sensor cannot be used.": "Parmak izi okuyucu kullanılamıyor.",
            "The swipe was too short. Try again.": "Kaydırma çok kısaydı. Yeniden deneyin.",
            "Put the finger on the middle of the sensor.": "Parmağı okuyucunun ortasına koyun.",
            "Lift the finger, then touch again.": "Parmağı kaldırıp yeniden dokunun.",
            "The finger could not be read. Try again.": "Parmak okunamadı. Yeniden deneyin.",
            "Passcode:": "Parola:",
            "Recovery code:": "Kurtarma kodu:",
            "Code:": "Kod:",
            "Words:": "Sözcükler:",
            "Application password:": "Uygulama parolası:",
            "Again:": "Yeniden:",
            "Type it again, to be sure": "Emin olmak için yeniden yazın",
            "Strength:": "Güç:",
            "The two are not the same.": "İkisi aynı değil.",
            "OK": "Tamam",
            "Cancel": "Vazgeç",
            "Next": "Sonraki",
            "Keep Waiting": "Beklemeyi Sürdür",
            "Use Passcode\u{2026}": "Parola Kullan\u{2026}",
            "Another Way\u{2026}": "Başka Bir Yol\u{2026}",
            "Another way: % of %.": "Başka bir yol: % / %.",
            "Touch the fingerprint sensor.": "Parmak izi okuyucuya dokunun.",
            "Touch the fingerprint sensor, or type the passcode.":
                "Parmak izi okuyucuya dokunun veya parolayı yazın.",
            "What was typed before this prompt was discarded.": "Bu sorudan önce yazılanlar yok sayıldı.",
            "One more request waits for the same.": "Bir istek daha aynısını bekliyor.",
            "% more requests wait for the same.": "% istek daha aynısını bekliyor.",
            "Requested by ": "İsteyen: ",
            "Started by ": "Başlatan: ",
            "Its title: ": "Başlığı: ",
            "Its subtitle: ": "Alt başlığı: ",
            "Reason it gives: ": "Verdiği neden: ",
        ]
    )
}
