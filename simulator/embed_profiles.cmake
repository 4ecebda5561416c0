# Writes OUT, a C++ source that defines ShippedProfileTexts() with the files of
# the list PROFILES. A profile's name is its file name without ".json".
file(WRITE ${OUT} "#include \"simulator/shipped_profile_texts.h\"\n\n#include <array>\n\nnamespace spillway {\n\n")
set(rows "")
list(SORT PROFILES)
list(LENGTH PROFILES count)
foreach(file IN LISTS PROFILES)
  cmake_path(GET file STEM name)
  file(READ ${file} json)
  string(APPEND rows "      ShippedProfileText{\"${name}\", R\"json(${json})json\"},\n")
endforeach()
file(APPEND ${OUT} "std::span<const ShippedProfileText> ShippedProfileTexts() {\n  static constexpr std::array<ShippedProfileText, ${count}> kTexts = {{\n${rows}  }};\n  return kTexts;\n}\n\n}  // namespace spillway\n")
