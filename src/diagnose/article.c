/* The phrases of articles, and how they speak to their readers. */
#include "diagnose/article.h"

#include <ctype.h>
#include <string.h>

#include "diagnose/talk.h"

const plim__phrase plim__phrases[] = {
    /* the text speaks of itself */
    {"inthisguide", 4},
    {"inthisarticle", 4},
    {"inthispost", 4},
    {"inthisblog", 4},
    {"inthistutorial", 4},
    {"inthissection", 2},
    {"inthischapter", 4},
    {"thisarticle", 2},
    {"thisguide", 2},
    {"thistutorial", 2},
    {"thispageexplains", 4},
    {"thispagereports", 4},
    {"thispagelists", 4},
    {"thispagedescribes", 4},
    {"thisdocument", 2},
    {"thispaperdelves", 4},
    {"blogpost", 2},
    {"minread", 2},
    {"furtherreading", 2},
    {"tableofcontents", 4},
    {"keytakeaways", 4},
    {"whatyouwilllearn", 4},
    {"learnhowto", 2},
    {"learnwhy", 2},
    {"frequentlyasked", 4},
    {"introductionthe", 2},
    {"introductiontothe", 2},
    {"prerequisites", 1},
    {"overview", 1},
    {"conclusion", 1},
    {"troubleshootingguide", 4},
    {"troubleshooting", 1},
    {"errorguide", 2},
    {"completeguide", 2},
    {"quickanswer", 2},
    {"stepbystep", 2},
    {"step-by-step", 2},
    {"provenfixes", 4},
    {"releasenotes", 2},
    {"furtherado", 2},
    {"ifyougotthiserror", 4},
    {"thingsyoucantry", 4},
    {"examplenewmessage", 4},
    {"examplemessage", 2},
    {"theerroryou'llsee", 4},
    {"what'sactuallyhappening", 4},
    {"doesnotnecessarilyimply", 2},
    {"canalsobethrown", 4},
    {"inavarietyof", 2},
    {"letmeshowyou", 4},
    {"haveyouever", 4},
    {"thinkofitas", 2},

    /* what the error is */
    {"understandingtheerror", 4},
    {"whattheerror", 4},
    {"whatthiserror", 4},
    {"whatisthe", 1},
    {"errormessagesuggests", 2},
    {"occurswhen", 2},
    {"occurswhenever", 2},
    {"occurbecause", 2},
    {"occursbecause", 2},
    {"happenswhenyour", 2},
    {"thiserrorocc", 2},
    {"thiserrormeans", 2},
    {"thiserrormessage", 2},
    {"thiserrorappears", 2},
    {"thiserrorindicates", 2},
    {"thismeansyour", 2},
    {"thismeanspytorch", 2},
    {"thisexceptionis", 2},
    {"israisedwhen", 2},
    {"israisedif", 2},
    {"returnedwhen", 2},
    {"returnedif", 2},
    {"theexceptionthat", 2},
    {"commonerror", 2},
    {"mostcommon", 2},
    {"acommon", 2},
    {"thedreaded", 2},
    {"thefrustrating", 2},
    {"mostfrustrating", 2},
    {"riteofpassage", 4},
    {"youmustbefamiliar", 4},
    {"youmightenc", 2},
    {"youmayencounter", 2},
    {"usersmayenc", 4},
    {"usersmightenc", 4},
    {"you'veever", 2},
    {"ifyouencounter", 2},
    {"youwillsee", 2},
    {"youhaverunout", 2},
    {"oftenappears", 2},
    {"oftenindicates", 2},
    {"oftenleadsto", 2},
    {"oftenresult", 2},
    {"usuallymeans", 2},
    {"typicallymeans", 2},
    {"generallymeans", 1},
    {"indicatesthat", 2},
    {"indicatingthat", 2},
    {"typicallyhappens", 2},
    {"typicallyoccurs", 2},
    {"inmostcases", 2},
    {"inallcases", 2},
    {"virtuallyallcases", 2},
    {"refersto", 1},
    {"128+9", 4},
    {"128+sig", 4},
    {"isafundamental", 2},

    /* causes and cures as headings */
    {"commoncauses", 2},
    {"possiblecauses", 2},
    {"rootcauses", 2},
    {"rootcause:", 1},
    {"whatcauses", 2},
    {"causesaretypically", 2},
    {"causesareusually", 2},
    {"causes&fixes", 2},
    {"causesandfixes", 2},
    {"causesandsolutions", 2},
    {"causeandsolution", 2},
    {"symptom:", 2},
    {"symptoms", 2},
    {"problemoverview", 2},
    {"whyithappens", 2},
    {"whythishappens", 2},
    {"whythismatters", 2},
    {"thesolutioninvolves", 2},
    {"keyindicators", 2},
    {"outputexample", 2},
    {"exampleoutput", 2},
    {"examplelog", 2},
    {"errorlookslike", 4},
    {"hereisthesolution", 2},
    {"hereishowto", 2},
    {"here'show", 2},
    {"herearecommon", 2},
    {"herearesomecommon", 4},
    {"herearesomeways", 2},
    {"herearethecommon", 2},
    {"herearesteps", 2},
    {"acommonissuefaced", 8},
    {"isacommonissue", 4},
    {"practitioners", 2},
    {"howtofix", 2},
    {"howtosolve", 2},
    {"howtoavoid", 2},
    {"howtoprevent", 2},
    {"howtoresolve", 2},
    {"howtohandle", 2},
    {"howtodiagnose", 2},
    {"howtoconfirm", 2},
    {"tofixthiserror", 2},
    {"toresolvethis", 2},
    {"toavoidthis", 2},
    {"toverifythat", 2},
    {"stepstofix", 2},
    {"stepsyoucan", 2},
    {"thingstocheck", 2},
    {"quickfix", 2},
    {"bestpractice", 2},
    {"strategies", 2},
    {"techniques", 1},
    {"methodology", 2},
    {"trade-off", 1},
    {"forexample", 1},
    {"forinstance", 1},
    {"usually", 1},
    {"typically", 1},
    {"keepinmind", 1},
    {"itisimportantto", 1},
    {"itisrecommended", 1},
    {"youcanuse", 2},
    {"youcanobserve", 2},
    {"allowsyouto", 2},
    {"letsyou", 1},
    {"yourpython", 2},
    {"yourlinux", 2},
    {"yourpod", 2},
    {"whenapod", 2},
    {"lookforthe", 1},

    /* talk about what others should write or build */
    {"faqitem", 4},
    {"faqentry", 4},
    {"faqsection", 4},
    {"mustmention", 4},
    {"shouldmention", 2},
    {"shouldbedocumented", 4},
    {"documentationshould", 4},
    {"docsshould", 4},
    {"missingfromthedoc", 4},
    {"addtothedocs", 4},
    {"i'maskingthatwe", 4},
    {"iproposethat", 4},
    {"isimulatedan", 4},
    {"shouldsurface", 4},
    {"shouldbesurfaced", 4},
    {"surfaceoom", 4},

    /* changes */
    {"itwouldbehelpful", 4},
    {"itwouldbenice", 4},
    {"itwouldbegreatif", 4},
    {"featurerequest", 4},
    {"proposal", 2},
    {"[mrg]", 4},
    {"[wip]", 4},
    {"[rfc]", 4},
    {"moreinformative", 2},
    {"@moduledoc", 4},
    {"@spec", 4},
    {"iex>", 4},
    {"raisedwhen", 4},
    {"thrownwhen", 4},
    {"thispradds", 4},
    {"thisprfixes", 4},
    {"thisprensures", 4},
    {"thisprintroduces", 4},
    {"thisprchanges", 4},
    {"thisprmakes", 4},
    {"thisprremoves", 4},
    {"thispatch", 2},
    {"thiscommit", 1},
    {"testplan", 2},
    {"whatchanged", 2},
    {"whatdoesthispr", 4},
    {"howwasthis", 2},
    {"signed-off-by", 4},
    {"reviewed-by", 4},
    {"co-authored-by", 2},
    {"pullrequestresolved", 4},
    {"lgtm", 2},
    {"closedvia", 2},
    {"@@-", 4},
};

size_t plim__phrase_count(void) { return sizeof plim__phrases / sizeof *plim__phrases; }

bool plim__asks(plim__text after) {
    size_t length = (size_t)(after.end - after.at) < 80 ? (size_t)(after.end - after.at) : 80;
    const char *stop = memchr(after.at, '\n', length);
    return memchr(after.at, '?', stop ? (size_t)(stop - after.at) : length);
}

/* --- how it speaks -------------------------------------------------------------------------------------------- */

/* Sentences that programs and web pages print to whoever reads. */
static bool is_printed(plim__text line) {
    static const char *const words[] = {
        "you tried",     "if you want to",   "you are using", "you should probably", "signed in", "sign up",
        "sign in",       "terms of service", "your session",  "you can ignore",      "warning",   "you are receiving",
        "your feedback", "your input very",  "you signed",    "your account",        "you agree", "your environment",
        "your question", "your system",      "your current",  "thanks for your",     "reproduce", "you for your"};
    return plim__has_any(line, words, sizeof words / sizeof *words);
}

static size_t word_length(plim__text t) {
    size_t length = 0;
    while (t.at + length < t.end && isalpha((unsigned char)t.at[length])) length++;
    return length;
}

static bool is_word(plim__text t, size_t length, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) != length) continue;
        size_t same = 0;
        while (same < length && tolower((unsigned char)t.at[same]) == words[i][same]) same++;
        if (same == length) return true;
    }
    return false;
}

static int count_address(plim__text line) {
    static const char *const words[] = {"you", "your", "yours", "yourself"};
    int count = 0;
    for (plim__text t = line; t.at < t.end && count < 9;) {
        size_t length = word_length(t);
        if (length && (t.at == line.at || !isalnum((unsigned char)t.at[-1])))
            count += is_word(t, length, words, sizeof words / sizeof *words);
        t.at += length ? length : 1;
    }
    return count;
}

/* "- Reduce the batch", "2. Use mixed precision": a line of a list of advice. */
static bool is_step(plim__text line) {
    static const char *const verbs[] = {"reduce",  "use",     "enable",   "lower", "increase", "clear",  "avoid",
                                        "monitor", "restart", "consider", "limit", "ensure",   "verify", "identify",
                                        "switch",  "offload", "decrease", "free",  "optimize", "close",  "adjust"};
    plim__text t = line;
    while (t.at < t.end && !isalpha((unsigned char)*t.at) && *t.at != '`' && *t.at != '"') t.at++;
    size_t length = word_length(t);
    if (!length || t.at + length >= t.end || t.at[length] != ' ') return false;
    return is_word(t, length, verbs, sizeof verbs / sizeof *verbs);
}

int plim__advice_points(plim__text window) {
    int address = 0, steps = 0, change = -1; /* of the first line */
    bool form = false;                       /* "Steps to reproduce": a report's form */
    for (plim__text line = {window.at, window.at}; line.at < window.end; line.at = line.end + 1) {
        const char *stop = memchr(line.at, '\n', (size_t)(window.end - line.at));
        line.end = stop ? stop : window.end;
        if (line.end - line.at > 2000) continue;
        if (change < 0 && line.end > line.at) change = plim__is_change_title(line);
        static const char *const forms[] = {"to reproduce", "expected behav"};
        form |= plim__has_any(line, forms, 2);
        if (is_printed(line)) continue;
        address += count_address(line);
        steps += is_step(line);
    }
    if (form) steps = 0;
    return (change > 0 ? 4 : 0) + (address >= 3) + (address >= 6) + (address >= 9) + (steps >= 3 ? 2 : 0) +
           (steps >= 6 ? 2 : 0);
}
