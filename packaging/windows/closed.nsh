; WaitUntilClosed: goes on once the Hookline in the folder $0 runs no longer. It gives a program that is just ending two
; seconds, then asks; Cancel, which is also what a silent run says, ends the setup with IN_USE.

!macro WaitUntilClosed prefix
Function ${prefix}WaitUntilClosed
  again:
  ${For} $1 1 8
    StrCpy $2 0
    !insertmacro CountIfRunning "$0\hooklinew.exe"
    !insertmacro CountIfRunning "$0\hookline.exe"
    ${If} $2 = 0
      Return
    ${EndIf}
    Sleep 250
  ${Next}
  MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Hookline is running. Quit it (or end hookline serve in its terminal), then click Retry.$\r$\n$\r$\nNothing has been changed yet." /SD IDCANCEL IDRETRY again
  SetErrorLevel ${IN_USE}
  Quit
FunctionEnd
!macroend

; Adds 1 to $2 when the program `file` runs: Windows lets nobody write into a running program.
!macro CountIfRunning file
  ${If} ${FileExists} "${file}"
    ClearErrors
    FileOpen $3 "${file}" a
    ${If} ${Errors}
      IntOp $2 $2 + 1
    ${Else}
      FileClose $3
    ${EndIf}
  ${EndIf}
!macroend

!insertmacro WaitUntilClosed ""
!insertmacro WaitUntilClosed "un."
