# Read by cmake as it configures llama-cpp-python (scripts/install.py): compile llama.cpp in less time.
#
# A unity build compiles many files as one, because most of the time goes into shared headers. Two files
# of llama-common cannot share a unit: they specialize templates that other files use. Parts whose speed
# nothing here measures are not optimized: llama-common and its HTTP client, which only tests of
# common_sampler use, and the files of llama that quantize, read model files and split prompts into tokens.

if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

  function(compile_lightly)
    set(common ${CMAKE_SOURCE_DIR}/vendor/llama.cpp/common)
    set_source_files_properties(
      ${common}/json.cpp ${common}/jinja/value.cpp
      TARGET_DIRECTORY llama-common
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    if(MSVC)
      return()
    endif()
    set(llama ${CMAKE_SOURCE_DIR}/vendor/llama.cpp/src)
    set_source_files_properties(
      ${llama}/llama-quant.cpp ${llama}/llama-model-loader.cpp ${llama}/llama-model-saver.cpp
      ${llama}/llama-chat.cpp ${llama}/unicode.cpp
      TARGET_DIRECTORY llama
      PROPERTIES COMPILE_OPTIONS -O0)
    foreach(name llama-common cpp-httplib)
      if(TARGET ${name})
        set_property(TARGET ${name} APPEND PROPERTY COMPILE_OPTIONS -O0)
        set_property(TARGET ${name} PROPERTY UNITY_BUILD_BATCH_SIZE 24)
      endif()
    endforeach()
  endfunction()
  cmake_language(DEFER CALL compile_lightly)
endif()
