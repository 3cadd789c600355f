/// Well-known phrases that people use as passphrases: examples, proverbs, verses, titles.
///
/// Their words would be good separately, but an attacker who guesses phrases tries these first. Compared without case,
/// spaces and punctuation, and with look-alike characters folded.
enum CommonPhrases {
    /// The phrases by first letter, lower-case letters only.
    static let phrases: [UInt8: [[UInt8]]] = {
        let lines = text.withUTF8Buffer { octets in
            octets.split { $0 == UInt8(ascii: "\n") }.map { line in
                line.filter { $0 > 0x20 }
            }
        }
        return Dictionary(grouping: lines) { $0[0] }
    }()

    private static let text: StaticString = """
        a bird in the hand is worth two in the bush
        a horse a horse my kingdom for a horse
        a journey of a thousand miles begins with a single step
        a penny saved is a penny earned
        a picture is worth a thousand words
        a rose by any other name
        actions speak louder than words
        all animals are equal
        all for one and one for all
        all that glitters is not gold
        all the worlds a stage
        all work and no play makes jack a dull boy
        all you need is love
        all your base are belong to us
        an apple a day keeps the doctor away
        another one bites the dust
        ask and it shall be given
        be yourself everyone else is already taken
        beam me up scotty
        better late than never
        born to be wild
        call me ishmael
        can i have your password please
        carpe diem
        change is the only constant
        cogito ergo sum
        come as you are
        correct horse battery staple
        correct horse staple battery
        could the real slim shady please stand up
        curiosity killed the cat
        dance like nobody is watching
        do not go gentle into that good night
        do or do not there is no try
        do you believe in magic
        dont cry over spilled milk
        dont panic and carry a towel
        dont stop believing
        early to bed and early to rise
        elementary my dear watson
        et tu brute
        every cloud has a silver lining
        every little thing is gonna be alright
        fear is the mind killer
        fly me to the moon
        follow the white rabbit
        follow the yellow brick road
        for god so loved the world
        for whom the bell tolls
        fortune favors the bold
        four score and seven years ago
        frankly my dear i dont give a damn
        game of thrones
        get rich or die trying
        give me liberty or give me death
        go ahead make my day
        god bless america
        god is good all the time
        good morning vietnam
        great power comes great responsibility
        hail mary full of grace
        happy birthday to you
        hasta la vista baby
        hello darkness my old friend
        hello from the other side
        hello world this is
        here comes the sun
        here i am to worship
        here is looking at you kid
        hey diddle diddle the cat and the fiddle
        hit me baby one more time
        home is where the heart is
        home sweet home
        honesty is the best policy
        houston we have a problem
        humpty dumpty sat on a wall
        i came i saw i conquered
        i can do all things through christ
        i have a dream
        i love my family
        i love you to the moon and back
        i see dead people
        i solemnly swear that i am up to no good
        i think therefore i am
        i want to believe
        i will always love you
        i will be back
        if it aint broke dont fix it
        if you can dream it you can do it
        imagine all the people
        in god we trust
        in the beginning god created the heaven and the earth
        in the beginning was the word
        in the end it doesnt even matter
        in the jungle the mighty jungle
        is this the real life is this just fantasy
        it is a truth universally acknowledged
        it was a bright cold day in april
        it was a dark and stormy night
        it was the best of times it was the worst of times
        its a small world after all
        jack and jill went up the hill
        jesus is my lord and savior
        jesus loves me this i know
        jingle bells jingle bells jingle all the way
        keep calm and carry on
        keep your friends close and your enemies closer
        knowledge is power
        lather rinse repeat
        leave no stone unturned
        let it be let it be
        let it go let it go
        let me in please
        let the games begin
        let there be light
        lets get ready to rumble
        life is a highway
        life is good
        life is like a box of chocolates
        life liberty and the pursuit of happiness
        like a rolling stone
        lions and tigers and bears
        live laugh love
        live long and prosper
        london bridge is falling down
        look before you leap
        lorem ipsum dolor sit amet
        love is all you need
        love never fails
        luke i am your father
        made in china
        make america great again
        make love not war
        mary had a little lamb
        may the force be with you
        mirror mirror on the wall
        money cant buy happiness
        money makes the world go round
        my dog ate my homework
        my name is inigo montoya
        my password is
        my precious
        never give up never surrender
        never gonna give you up
        never gonna let you down
        no one can stop me now
        no pain no gain
        nobody expects the spanish inquisition
        not all who wander are lost
        now i lay me down to sleep
        now is the time for all good men
        oh say can you see
        old macdonald had a farm
        once upon a time
        one does not simply walk into mordor
        one fish two fish red fish blue fish
        one ring to rule them all
        open sesame
        our father who art in heaven
        party like its 1999
        peace love and happiness
        peter piper picked a peck of pickled peppers
        please let me in
        power to the people
        practice makes perfect
        pride and prejudice
        rage against the machine
        rain rain go away
        resistance is futile
        ring around the rosie
        roll out the barrel
        romeo romeo wherefore art thou romeo
        roses are red violets are blue
        row row row your boat
        san francisco giants
        say hello to my little friend
        shaken not stirred
        shall i compare thee to a summers day
        show me the money
        silence is golden
        silent night holy night
        sing a song of sixpence
        smells like teen spirit
        so long and thanks for all the fish
        somewhere over the rainbow
        stairway to heaven
        standing on the shoulders of giants
        stop and smell the roses
        sweet dreams are made of this
        sweet home alabama
        take me out to the ball game
        take me to your leader
        talk is cheap
        that is one small step for man
        the answer to life the universe and everything
        the best things in life are free
        the cake is a lie
        the early bird catches the worm
        the lord is my shepherd
        the mitochondria is the powerhouse of the cell
        the only thing we have to fear is fear itself
        the pen is mightier than the sword
        the quick brown fox jumps over the lazy dog
        the rain in spain stays mainly in the plain
        the sky is the limit
        the sound of silence
        the truth is out there
        the truth will set you free
        there is no place like home
        there is no spoon
        these are not the droids you are looking for
        this is my password
        this is sparta
        this is the end beautiful friend
        this too shall pass
        three blind mice see how they run
        time flies like an arrow
        time is money
        to be or not to be that is the question
        to boldly go where no man has gone before
        to infinity and beyond
        to thine own self be true
        trust no one
        twinkle twinkle little star
        two wrongs dont make a right
        under the sea
        united we stand divided we fall
        use the force luke
        veni vidi vici
        we are the champions
        we are the knights who say ni
        we dont need no education
        we hold these truths to be self evident
        we the people of the united states
        we will we will rock you
        what does the fox say
        what is my password
        what is the airspeed velocity of an unladen swallow
        whatever floats your boat
        when in rome do as the romans do
        when life gives you lemons make lemonade
        where there is a will there is a way
        whiskey tango foxtrot
        who let the dogs out
        why so serious
        winter is coming
        with great power comes great responsibility
        work hard play hard
        yesterday all my troubles seemed so far away
        yippee ki yay
        you cant handle the truth
        you only live once
        you reap what you sow
        you shall not pass
        you talking to me
        aller anfang ist schwer
        alle meine entchen
        der ball ist rund
        ende gut alles gut
        freude schoner gotterfunken
        hanschen klein ging allein
        ich bin ein berliner
        mein passwort ist
        morgenstund hat gold im mund
        ubung macht den meister
        allons enfants de la patrie
        je pense donc je suis
        la vie en rose
        liberte egalite fraternite
        mon mot de passe
        en un lugar de la mancha
        la vida es bella
        mi casa es su casa
        nel mezzo del cammin di nostra vita
        la dolce vita
        """
}
