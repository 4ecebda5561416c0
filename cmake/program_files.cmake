# Files that the program generates and that are installed with it: the manual
# page and completion scripts for bash, zsh and fish. They are in
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

# Without name and time, so that gzip is deterministic.
get_filename_component(folder ${spillway_program_files}/${man_page} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
add_custom_command(OUTPUT ${spillway_program_files}/${man_page}
  COMMAND ${GZIP} --no-name --best --stdout ${spillway_program_files}/spillway.1
          > ${spillway_program_files}/${man_page}
  DEPENDS ${spillway_program_files}/spillway.1
  COMMENT "Writing ${man_page}"
  VERBATIM)

set(written)
foreach(path ${bash_completion} ${zsh_completion} ${fish_completion} ${man_page})
  set(file ${spillway_program_files}/${path})
  get_filename_component(folder ${path} DIRECTORY)
  install(FILES ${file} DESTINATION ${folder} COMPONENT program)
  list(APPEND written ${file})
endforeach()
add_custom_target(program_files ALL DEPENDS ${written})
