# Files that are generated and installed with the program: its manual page,
# completion scripts for bash, zsh and fish, and Debian's changelog. They are in
# ${spillway_program_files}, in the folders in which they are installed.
find_program(GZIP gzip REQUIRED)
mark_as_advanced(GZIP)
set(spillway_program_files ${PROJECT_BINARY_DIR}/program_files)

# spillway_write_file(man/spillway.1 manual): the output of `spillway manual`.
function(spillway_write_file path)
  set(file ${spillway_program_files}/${path})
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${file}
    COMMAND spillway ${ARGN} > ${file}
    DEPENDS spillway
    COMMENT "Writing ${path}"
    VERBATIM)
endfunction()

# Debian's folders; other systems read them too, or copy from them.
set(bash_completion share/bash-completion/completions/spillway)
set(zsh_completion share/zsh/vendor-completions/_spillway)
set(fish_completion share/fish/vendor_completions.d/spillway.fish)
set(man_page share/man/man1/spillway.1.gz)
spillway_write_file(${bash_completion} completion bash)
spillway_write_file(${zsh_completion} completion zsh)
spillway_write_file(${fish_completion} completion fish)
spillway_write_file(spillway.1 manual)

# spillway_compress(spillway.1 share/man/man1/spillway.1.gz): without name and
# time, so that gzip is deterministic.
function(spillway_compress from path)
  set(file ${spillway_program_files}/${path})
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${file}
    COMMAND ${GZIP} --no-name --best --stdout ${from} > ${file}
    DEPENDS ${from}
    COMMENT "Writing ${path}"
    VERBATIM)
endfunction()
spillway_compress(${spillway_program_files}/spillway.1 ${man_page})

# Debian Policy 12.7: each package has its changelog, which states its version.
set(changelog ${PROJECT_SOURCE_DIR}/cmake/debian/changelog)
file(STRINGS ${changelog} newest LIMIT_COUNT 1)
if(NOT newest MATCHES "^spillway \\(${PROJECT_VERSION}\\) ")
  message(FATAL_ERROR "${changelog} begins with '${newest}', not with version ${PROJECT_VERSION}")
endif()
set(program_changelog share/doc/spillway/changelog.gz)
set(development_changelog share/doc/libspillway-dev/changelog.gz)
spillway_compress(${changelog} ${program_changelog})
spillway_compress(${changelog} ${development_changelog})

set(written)
foreach(path ${bash_completion} ${zsh_completion} ${fish_completion} ${man_page}
        ${program_changelog})
  set(file ${spillway_program_files}/${path})
  get_filename_component(folder ${path} DIRECTORY)
  install(FILES ${file} DESTINATION ${folder} COMPONENT program)
  list(APPEND written ${file})
endforeach()
set(file ${spillway_program_files}/${development_changelog})
install(FILES ${file} DESTINATION share/doc/libspillway-dev)
list(APPEND written ${file})
add_custom_target(program_files ALL DEPENDS ${written})
