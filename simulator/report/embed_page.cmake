# Writes OUT, a C++ source that defines the texts of page_assets.h: the files
# HTML and STYLE, and the concatenated SCRIPTS.
function(embed name)
  set(text "")
  foreach(file IN LISTS ARGN)
    file(READ ${file} content)
    string(APPEND text "${content}")
  endforeach()
  file(APPEND ${OUT} "const std::string_view ${name} = R\"page(${text})page\";\n")
endfunction()

file(WRITE ${OUT} "#include \"simulator/report/page_assets.h\"\n\nnamespace spillway {\n\n")
embed(kPageHtml ${HTML})
embed(kPageStyle ${STYLE})
embed(kPageScript ${SCRIPTS})
file(APPEND ${OUT} "\n}  // namespace spillway\n")
