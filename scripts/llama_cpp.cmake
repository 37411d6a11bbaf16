# Read by cmake as it configures llama-cpp-python (scripts/install.py): compile llama.cpp in less time.
#
# A unity build compiles many files as one, because most of the time goes into shared headers. Parts whose
# speed nothing here measures are not optimized: the files of llama that quantize, read model files and
# split prompts into tokens. The sources of llama-common are installed for scripts/llama_common.py.

if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

  set(llama ${CMAKE_SOURCE_DIR}/vendor/llama.cpp)
  install(DIRECTORY ${llama}/common ${llama}/vendor/nlohmann DESTINATION lib/llama-common)
  install(FILES ${llama}/src/llama-ext.h DESTINATION lib/llama-common/src)

  function(compile_lightly)
    if(MSVC)
      return()
    endif()
    set(source ${CMAKE_SOURCE_DIR}/vendor/llama.cpp/src)
    file(GLOB together ${source}/llama-kv-cache*.cpp ${source}/llama-memory*.cpp)
    list(REMOVE_ITEM together ${source}/llama-kv-cache-dsv4.cpp)  # the name of a function occurs twice
    list(APPEND together ${source}/llama-adapter.cpp ${source}/llama-batch.cpp ${source}/llama-context.cpp
      ${source}/llama-cparams.cpp ${source}/llama-graph.cpp ${source}/llama-hparams.cpp ${source}/llama-io.cpp)
    set_source_files_properties(${together}
      TARGET_DIRECTORY llama
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION OFF)
    set_source_files_properties(
      ${source}/llama-quant.cpp ${source}/llama-model-loader.cpp ${source}/llama-model-saver.cpp
      ${source}/llama-chat.cpp ${source}/unicode.cpp
      TARGET_DIRECTORY llama
      PROPERTIES COMPILE_OPTIONS -O0)
    set_target_properties(ggml-cpu PROPERTIES UNITY_BUILD OFF)  # its files define the same names
  endfunction()
  cmake_language(DEFER CALL compile_lightly)
elseif(PROJECT_NAME STREQUAL "llama.cpp")
  set(LLAMA_BUILD_COMMON OFF)
endif()
