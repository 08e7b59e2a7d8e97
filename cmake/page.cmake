# The report's page: style and scripts are joined, then the assembler takes them into page_assets.c.
set(PLIM_PAGE_SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/src/report/page)
set(PLIM_PAGE_DIR ${CMAKE_CURRENT_BINARY_DIR}/page)
set(PLIM_PAGE_SCRIPTS data model theme scale chart map table frontier decisions compare segments leaks detail app)
list(TRANSFORM PLIM_PAGE_SCRIPTS PREPEND ${PLIM_PAGE_SOURCE}/)
list(TRANSFORM PLIM_PAGE_SCRIPTS APPEND .js)
file(MAKE_DIRECTORY ${PLIM_PAGE_DIR})
add_custom_command(
  OUTPUT ${PLIM_PAGE_DIR}/page.js
  COMMAND ${CMAKE_COMMAND} -E cat ${PLIM_PAGE_SCRIPTS} > ${PLIM_PAGE_DIR}/page.js
  DEPENDS ${PLIM_PAGE_SCRIPTS} VERBATIM)
set_source_files_properties(src/report/page_assets.c PROPERTIES
  COMPILE_DEFINITIONS "PLIM_PAGE_SOURCE=\"${PLIM_PAGE_SOURCE}\";PLIM_PAGE_DIR=\"${PLIM_PAGE_DIR}\""
  OBJECT_DEPENDS "${PLIM_PAGE_SOURCE}/page.html;${PLIM_PAGE_SOURCE}/page.css;${PLIM_PAGE_DIR}/page.js")
