/* The page's parts, put into the program at build time from page/. Each ends with a zero byte. */
#ifndef PLIM_REPORT_PAGE_ASSETS_H
#define PLIM_REPORT_PAGE_ASSETS_H

extern const char plim__page_html[], plim__page_style[], plim__page_script[];

#endif
