/* Takes the page's files into the program as they are. */
#include "report/page_assets.h"

#define TAKE(name, path)                                                                                               \
    __asm__(".section .rodata\n"                                                                                       \
            ".global " #name "\n"                                                                                      \
            ".hidden " #name "\n"                                                                                      \
            ".type " #name ", %object\n" #name ":\n"                                                                   \
            ".incbin \"" path "\"\n"                                                                                   \
            ".byte 0\n"                                                                                                \
            ".size " #name ", . - " #name "\n"                                                                         \
            ".previous\n")

TAKE(plim__page_html, PLIM_PAGE_SOURCE "/page.html");
TAKE(plim__page_style, PLIM_PAGE_SOURCE "/page.css");
TAKE(plim__page_script, PLIM_PAGE_DIR "/page.js");
