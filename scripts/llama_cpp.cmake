# Read by cmake as it configures llama-cpp-python (scripts/install.py): compile llama.cpp in less time.
#
# A unity build compiles many files as one, because most of the time goes into shared headers. Two files
# of llama-common cannot share a unit: they specialize templates that other files use. llama-common and
# its HTTP client are not optimized: only tests of common_sampler use them, and none measures their speed.

if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

  function(lighten_llama_common)
    set(common ${CMAKE_SOURCE_DIR}/vendor/llama.cpp/common)
    set_source_files_properties(
      ${common}/json.cpp ${common}/jinja/value.cpp
      TARGET_DIRECTORY llama-common
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    foreach(name llama-common cpp-httplib)
      if(TARGET ${name} AND NOT MSVC)
        set_property(TARGET ${name} APPEND PROPERTY COMPILE_OPTIONS -O0)
        set_property(TARGET ${name} PROPERTY UNITY_BUILD_BATCH_SIZE 24)
      endif()
    endforeach()
  endfunction()
  cmake_language(DEFER CALL lighten_llama_common)
endif()
