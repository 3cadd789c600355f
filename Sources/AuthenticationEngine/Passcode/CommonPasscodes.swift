/// What people choose first: words, names, teams, heroes, places, runs of digits.
///
/// Written down for this package, after what recurs at the head of the published lists of leaked passwords
/// (among them "10 million passwords" by M. Burnett and the yearly lists of SplashData and NordPass). Forms
/// with capitals, digits for letters, years and other decorations are judged by ``Guessability``, not listed.
enum CommonPasscodes {
    /// By their first octet.
    static let words: [UInt8: [[UInt8]]] = {
        let words = text.withUTF8Buffer { octets in
            octets.split { $0 <= 0x20 }.map { Array($0) }
        }
        return Dictionary(grouping: words) { $0[0] }
    }()

    /// In small letters and digits, separated by blanks and line ends.
    private static let text: StaticString = """
        007007 010101 010203 090909 101010 102030 111213 111222 112211 112233 11223344 121212 122333 123123
        123321 131313 1314520 134679 141414 141421 142536 147147 147258 147258369 147852 151515 159357
        159753 159951 161616 161803 171717 181818 191919 1q2w3e 1qaz2wsx 202020 212121 222333 232323 242424
        246810 252525 258258 258456 271828 303030 313131 314159 31415926 321321 323232 343434 357951 369369
        404040 414141 420420 424242 434343 454545 456456 456852 4815162342 505050 515151 5201314 520520
        521521 525252 535353 545454 565656 575757 585858 606060 616161 636363 646464 656565 676767 686868
        696969 717171 727272 737373 741852 741852963 747474 753951 757575 767676 787878 789456 789456123
        789789 797979 808080 818181 828282 838383 848484 852456 858585 8675309 868686 878787 898989 909090
        919191 929292 939393 949494 959595 963741 963852 969696 979797 989898 a1b2c3 aaron abc123 abcd1234
        abdullah abigail access acdc achilles action actor actress acura adam admin admin123 administrator
        adrian adventure africa ahmed aini airborne airforce airplane aishiteru ajax alaska albert alejandro
        alex alexander alexandra alexis ali alice alicia alien aliens alison allah alligator allison allstar
        alpha always alyssa amanda amazing amazon america american amit amor amour amsterdam anahtar anakin
        analog anderson andre andrea andreas andrew andrey android angel angela angels angry anjali ankara
        anna annie ant anthony antoine anton antonia antonio anybody anything apollo apple apples april
        aquarius aragorn ares argentina aries arizona armor army arnold arrow arsenal arthur asd123 asdf
        asdfgh ashley askim asshole astros athena athletics audi august austin australia autumn ava avengers
        awesome ayse azerty azertyuiop baby babyboy babygirl bacon bad badboy badger badgirl baker ballet
        bambi banana bandit barbara barcelona barry bart baseball basic basketball bass bastard batman
        bayern beach bear bears beatles beautiful beaver bebek because bed bee beer beethoven beetle beijing
        bella benfica bengals benjamin bentley berlin besiktas best bestfriend beta better betty beyonce
        bicycle bieber big bigboy bike biker bilbo bilgisayar bill billion billy biology bird birdie
        birthday bison bitch bitches black blackpink blade bleach blessed blink182 blowjob blue blueberry
        bmw boat bobby bobcat bollocks bond bond007 bonjour bonnie boobies booboo boobs boogie book books
        boomer boris boss boston boxing boy boys bradley brandon brasil braves bravo brazil breeze brenda
        brian bridge britain brittany bro bronco broncos brooke brooklyn brother brown browns bruins bubba
        bubbles buddha buddy budlight buffalo bugatti bugsbunny buick bull bulldog bullet bulls bullshit
        bunny burger burrito burton business buster butcher butter butterfly bye cadillac caesar cake
        california callofduty calvin camaro camel camera cameron camila camille camping canada cancer candy
        canim canucks captain cardinals career carlos carmen carol carolina caroline carrot carter cartman
        cash casino cassie castle cat catherine cats catwoman celtic celtics chad chair challenger champion
        champions change changeme chargers charizard charles charlie cheese cheetah chelsea chemistry chen
        cherry chevrolet chevy chewbacca cheyenne chicago chicken chief chiefs child children chile chimp
        china chloe chocolate chouchou christ christin christina christine christmas church ciao cinnamon
        cisco claire class claudia cleopatra climber clone cloud coach cobol cobra cocacola cock coco cocoa
        coconut code coder coding coffee cola cold college colombia colorado colts columbus company computer
        connor contrasena contrasenia cookie cookies cool cooper cop copper corazon corinthians corona
        corvette cosmos cougar counterstrike courtney cowboy cowboys cowgirl crab craig crap crazy cricket
        crocodile crystal cubs cuddles cunt cupcake cute cyber cyborg cynthia dad daddy dagger daisy dakota
        dallas damn dancer dancing daniel daniela danielle darwin database daughter dave david davidson dawn
        deadpool debbie debian debra december deepak deer default delphi delta demo demon denise dennis
        denver derek desktop destiny detroit deutschland developer devil dexter diablo diamond diana diane
        dick dickhead diego diesel digital dinosaur discovery disney dmitri dmitry doctor dodge dodgers dog
        doggie doggy dogs dollar dolphin dolphins donald donkey donna doom door dorothy dortmund doudou
        douglas dragon dragonball drill driver drummer drums ducati duck dude duke dumb dumbledore duncan
        dylan eagle eagles earth easter echo eddie eduardo edward eeyore egypt eight einstein elena elephant
        elif elizabeth ella ellen elvis emerald emily eminem emma emperor emre energy engine engineer
        england enter enterprise eric erica erika estrella eternal eternity ethan eugene euro europe evan
        everton everything example explorer extreme facebook faith falcon falcons fall family fantastic
        fantasy farmer fast father fatima fatma february fenerbahce fernanda fernando ferrari fiat ficken
        fire firefighter fireman first fish fisherman fishing five flame flamengo florida flower flowers
        fluffy flyers football ford forest forever fortnite fortune four fox foxtrot foxy france francesco
        francis frank frankie franklin fred freddy freedom friday friend friends frodo frog froggy fuck
        fucker fuckme fuckoff fuckyou fun funny fussball futbol gabriel gabriela galatasaray galaxy gamma
        gandalf gangsta gangster garage garden garfield garlic gary gator gators gavin gecko geek geheim
        gemini geneva genius george georgia germany ghost giant giants gibson ginger giovanni giraffe girl
        girls giuseppe gizli gladiator gmail goal goblin god godfather godzilla goku gold golden golf golfer
        golfing good goodbye goofy google goose gordon gorilla grace grandma grandpa grape grapes great
        greece green greenday gregory grey griffin guest guinness guitar gunner guvenlik hacker hacking haha
        hahaha hailey hallo halloween halo hammer hamster handsome hannah hans hansolo happy hardcore
        hardware harley harry harrypotter hassan hawaii hawk heat heather heaven heidi heineken helen
        helicopter hell hello hello123 hendrix henry hera hercules here hermione hiking hiro history hobbes
        hobbit hockey hogwarts hola holiday hollywood home homeboy homer honda honey hooters hope hornet
        horny horse horses hot hotdog hotmail house houston how howard huang huge hulk hummer hundred hunter
        hunting husband hussein hyper ibrahim ice iceman igor iloveher iloveme iloveu iloveyou india
        infinity inter internet iphone ireland irina iron ironman isaac isabel isabella island israel
        istanbul italy ivan iwantu izmir jack jackie jackson jacob jacqueline jaguar jake james janet
        january japan jasmine jason java javier jean jedi jeep jeffrey jennifer jeremy jerry jessica jessie
        jesus jets jihoon jimmy job john johnson joker jonathan jordan jose joseph joshua joyce juan juice
        julia julian julie juliet juliette july june jupiter jurgen justice justin juventus kalp kangaroo
        karen karina katherine kathleen katie kawasaki kayla keith kelly kenji kenny kenya kevin keyboard
        keychain keyring kids kim kimberly king kingkong kirill kirk kiss kitchen kitten kitty kiwi klaus
        knicks knife knight koala korea korn krishna kristina kumar kyle lacrosse lady ladybug lake lakers
        lamborghini laptop large larry lassie last lasvegas laura lauren lee legend legolas leia lemon leo
        leopard leslie letmein letter lexus liam liberty libra library lightning lily lime linda lindsay
        lindsey link linkinpark linux lion lisa lisbon little liverpool lizard lobster logan login logon lol
        lola london long lotus louise loulou love love123 lovely loveme lover loverboy lovergirl lovers
        loveyou loving luca lucas lucia lucifer lucky lucy luffy luigi luis luke luna lyubov machine madison
        madonna madrid magazine maggie magic magnum mama man manager manchester mango manuel manutd maple
        march marco marcus margaret maria marie marina marine mariners marines mario mariposa mark marley
        marlins mars marshall martin marvel marvin mason master math matrix matt matthew max maxim maximum
        maximus maxwell maybe mazda mega megadeth megan mehmet melanie melbourne melissa melon men mercedes
        mercury merhaba metal metallica mets mexico mia miami michael michel michelle michigan mickey
        microsoft midnight miguel mike mikhail milan military million mima minecraft minji minnie mirror
        mitchell modem mohamed mohammed molly mom mommy monday money monica monika monitor monkey montana
        moon moonlight moose morgan morning morpheus moscow moses motdepasse mother mountain mouse movie
        movies mozart muffin muhammad munich murat murphy music mustafa mustang mysql mystery nail namaste
        nancy napoleon naruto natalia natalie natasha nathan naughty navy ncc1701 nelson nemo neo neptune
        nerd network never newton newyear newyork nguyen nice nicholas nicolas nicole nigeria night nihao
        nikita nikolai nine ninja nintendo nirvana nissan noah nobody nope norman nothing november now
        number numbers nurse ocean october octopus odysseus office offline okay oksana oleg olga oliver
        olivia omar omega omg one onedirection onepiece onion online open oracle orange orchid oreo orioles
        oscar otter ou812 p4ssw0rd pablo packers padres pakistan palmeiras pamela panda pantera panther
        panthers paolo papa paris park parker parol parola parrot pascal pass pass123 passcode passphrase
        password passwort patches patricia patrick patriots paul pavel peace peach peaches peanut pearl
        pedro penguin penguins pepper pepsi perfect perl peter petra peugeot phantom philippe phillies
        phoenix photo physics piano picard picasso picture pierre piglet pikachu pilot pimp pineapple pink
        pinkfloyd piranha pirate pirates pisces pistol pistons pixar pizza plane planet platinum playboy
        player player1 playstation please pluto poet poetry pokemon poland police polina pontiac pony pooh
        poohbear pookie popcorn popeye porn porno porsche porto potato potter power precious predator
        president pretty prince princesa princess private privet priya program programmer public pudding
        pumpkin puppy purple pussy pussycat python q1w2e3 qazwsx quake queen qwe123 qwerty qwerty123 qwertz
        rabbit raccoon racer rachel racing rafael rahul raiders rain rainbow raj ralph rambo ranger rangers
        raptor raspberry rat raven ravens ravi raymond reading reality realmadrid rebecca red redskins
        redsox redwings reggie renault rex ricardo rich richard rifle rihanna river robert roberto robin
        roblox robot rock rocket rockets rocky rodrigo rofl roger roland romeo ronald ronnie room rooster
        root rose rosie router rover roxy roy royals ruby rugby rum runner running rush2112 ruslan russell
        russia ruth ryan sabine sabrina sad sadie sailing saint saints sakura salmon salt salut samantha
        sammy sample samson samsung samuel samurai sandra sandwich sanjay sapphire sarah sarang sasha sasuke
        satan saturday saturn sauron savannah scarface schatz school science scooby scoobydoo scooter score
        scorpio scorpion scotland scott screen screw script sea seahawks seal sean seattle second secret
        secure security selam senha seni seoul september sergey sergio server service seven seviyorum sex
        sexsex sexy shadow shaggy shakespeare shakira shanghai shannon shark sharon shawn shelby sherlock
        shield shit shooter short shrek sifre sigma silly silver simba simon simpson simpsons singer sir
        sister sith six skateboard skater skating skiing skipper skippy sky skyline skype skywalker slayer
        slipknot slow slut small smart smith smokey smoky snake snickers sniper snoopy snow snowball
        snowboard snowman snuggles soccer sofia softball software soldier soleil solnishko somebody
        something sommer son sonic sophia sophie sorcerer source southpark space spain spanky sparky
        spartacus spartan speed speedy spencer spider spiderman spock spooky spring spurs squirrel stallion
        stanley star starcraft starlight stars startrek starwars steel steelers stefan stella stephanie
        stephen steve steven stinky stone storm stormy strawberry strength striker strong student studio
        stupid subaru success sucker suckit sugar summer sun sunday sunny sunrise sunset sunshine super
        superman support surfer surfing susan suzuki svetlana sweet sweetheart sweetie swimming sword sydney
        sylvester system table taco takashi tammy tanaka tango tarzan tatiana taurus taylor tea teacher team
        teamo temp temple temporary ten tennis tequiero tequila teresa terminator terry test test123 tester
        testing texas thailand thanks thankyou that then there theresa these third this thomas thor those
        thousand three thug thumper thunder thursday thx1138 tiffany tiger tigers tigger timothy tina tinker
        tinkerbell titan titanic titans tits toby today together tokyo tomato tomcat tommy tomorrow tool
        toolbox touchstone tower toyota trabzonspor tracey tracy train trans travis tree trex trigger
        trinity trixie trojan troll trouble trout truck trucker trust trustno1 tucker tuesday tulip tupac
        turbo turkey turkiye turtle tweety twitter two ubuntu ugly ukraine ultra unicorn united universe
        university unlimited unlock user uwe vader valentin valentina vampire vanessa vanilla vault vector
        vegas vegeta venus veronica victor victoria victory vienna vietnam viking vikings vincent violet
        violin viper virginia virgo virtual visual vladimir vodka volkswagen volleyball volvo voyager wales
        walnut walrus walter wang wanker warcraft warlock warrior warriors wasp water watermelon weak weapon
        wednesday weekend welcome wendy whale what whatever when where whiskers whiskey white who whore why
        wife wifi wildcat william williams willie wilson wind window windows wine winner winnie winston
        winter wireless witch wizard woaini wolf wolfgang wolverine woman wombat women wonderful word work
        working world worst wow wrestling writer writing wsxedc xavier xbox xmen yacht yahoo yamaha yamamoto
        yang yankees yeah yellow yes yesterday yoda youtube yuki yuri yusuf zachary zaq12wsx zebra zelda
        zeppelin zero zeus zeynep zhang zhao zhou ziggy zodiac zoe zombie zulu zxc123 zxcvbn
        """
}
