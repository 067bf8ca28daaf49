; AddToPath, RemoveFromPath and IsOnPath ($0 becomes 1 or 0) for $INSTDIR in the user's PATH. The text stays in memory of
; its own: an NSIS string ends after 1,023 characters, and a longer PATH would be cut short for good.
; They use the registers $R0 to $R5.

!define CURRENT_USER "p -2147483647"
; RegGetValue: text, with or without %NAMES%, which stay as they are written.
!define TEXT_AS_WRITTEN 0x10000006
!define REG_EXPAND_SZ 2
!define FILE_NOT_FOUND 2

; $R1: the PATH between two semicolons, in memory with room for another folder, 0 when it cannot be read; $R2: its type.
!macro ReadUserPath
  System::Call 'advapi32::RegGetValueW(${CURRENT_USER}, w "Environment", w "Path", i ${TEXT_AS_WRITTEN}, *i .R2, p 0, *i 0 R3) i .R0'
  ${If} $R0 = ${FILE_NOT_FOUND}
    StrCpy $R2 ${REG_EXPAND_SZ}
    StrCpy $R3 0
  ${EndIf}
  IntOp $R4 $R3 + 4096
  System::Alloc $R4
  Pop $R1
  ${If} $R3 > 0
    System::Call 'kernel32::lstrcpyW(p R1, w ";")'
    IntPtrOp $R5 $R1 + 2
    System::Call 'advapi32::RegGetValueW(${CURRENT_USER}, w "Environment", w "Path", i ${TEXT_AS_WRITTEN}, *i .R2, p R5, *i R3 R3) i .R0'
    ${If} $R0 = 0
      System::Call 'kernel32::lstrcatW(p R1, w ";")'
    ${EndIf}
  ${ElseIf} $R0 = ${FILE_NOT_FOUND}
    System::Call 'kernel32::lstrcpyW(p R1, w ";")'
    StrCpy $R0 0
  ${EndIf}
  ${If} $R0 <> 0
    System::Free $R1
    StrCpy $R1 0
  ${EndIf}
!macroend

; $R4: where the PATH in $R1 names $INSTDIR, 0 when it does not. $R5: what was looked for.
!macro FindInPath
  StrCpy $R5 ";$INSTDIR;"
  System::Call 'shlwapi::StrStrIW(p R1, w R5) p .R4'
!macroend

; Writes the PATH in $R1 without its outer semicolons, and tells the programs that run.
!macro WriteUserPath
  System::Call 'kernel32::lstrlenW(p R1) i .R0'
  ${If} $R0 < 2
    DeleteRegValue HKCU "Environment" "Path"
  ${Else}
    IntOp $R3 $R0 * 2
    IntPtrOp $R5 $R1 + $R3
    IntPtrOp $R5 $R5 - 2
    System::Call '*$R5(&i2 0)'
    IntPtrOp $R5 $R1 + 2
    IntOp $R3 $R3 - 2
    System::Call 'advapi32::RegSetKeyValueW(${CURRENT_USER}, w "Environment", w "Path", i R2, p R5, i R3) i .R0'
  ${EndIf}
  SendMessage ${HWND_BROADCAST} ${WM_SETTINGCHANGE} 0 "STR:Environment" /TIMEOUT=5000
!macroend

Function IsOnPath
  StrCpy $0 0
  !insertmacro ReadUserPath
  ${If} $R1 <> 0
    !insertmacro FindInPath
    ${If} $R4 <> 0
      StrCpy $0 1
    ${EndIf}
    System::Free $R1
  ${EndIf}
FunctionEnd

Function AddToPath
  !insertmacro ReadUserPath
  ${If} $R1 <> 0
    !insertmacro FindInPath
    ${If} $R4 = 0
      StrCpy $R5 "$INSTDIR;"
      System::Call 'kernel32::lstrcatW(p R1, w R5)'
      !insertmacro WriteUserPath
    ${EndIf}
    System::Free $R1
  ${EndIf}
FunctionEnd

!macro RemoveFromPath prefix
Function ${prefix}RemoveFromPath
  !insertmacro ReadUserPath
  ${If} $R1 <> 0
    !insertmacro FindInPath
    ${If} $R4 <> 0
      StrLen $R0 $R5
      IntOp $R0 $R0 - 1
      IntOp $R0 $R0 * 2
      IntPtrOp $R3 $R4 + $R0
      System::Call 'kernel32::lstrlenW(p R3) i .R0'
      IntOp $R0 $R0 * 2
      IntOp $R0 $R0 + 2
      System::Call 'kernel32::RtlMoveMemory(p R4, p R3, p R0)'
      !insertmacro WriteUserPath
    ${EndIf}
    System::Free $R1
  ${EndIf}
FunctionEnd
!macroend

!insertmacro RemoveFromPath ""
!insertmacro RemoveFromPath "un."
