# Read by cmake as it configures llama-cpp-python (scripts/install.py): compile llama.cpp in half the time.
#
# A unity build compiles twelve files as one, because most of the time goes into shared headers. json.cpp
# of llama-common cannot share a unit: it specializes templates that other files use. llama-common and its
# HTTP client are not optimized: only tests of common_sampler use them, and none measures their speed.

if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

  function(lighten_llama_common)
    set_source_files_properties(
      ${CMAKE_SOURCE_DIR}/vendor/llama.cpp/common/json.cpp
      TARGET_DIRECTORY llama-common
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    foreach(name llama-common cpp-httplib)
      if(TARGET ${name} AND NOT MSVC)
        set_property(TARGET ${name} APPEND PROPERTY COMPILE_OPTIONS -O0)
      endif()
    endforeach()
  endfunction()
  cmake_language(DEFER CALL lighten_llama_common)
endif()
