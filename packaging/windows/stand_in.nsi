; A program that stands in for Hookline when the installer is tried: it notes how it was started, and with
; `/while FILE` runs until FILE is gone.

!if /FileExists "${NSISDIR}/Stubs/lzma_solid-amd64-unicode"
  Target amd64-unicode
!else
  Target x86-unicode
!endif
Name "Stand-in"
OutFile "${OUTPUT}"
RequestExecutionLevel user
SilentInstall silent
!include LogicLib.nsh
!include FileFunc.nsh
!insertmacro GetParameters
!insertmacro GetOptions

Section
  ${GetParameters} $0
  FileOpen $1 "$LOCALAPPDATA\started.txt" w
  FileWriteUTF16LE /BOM $1 "$0"
  FileClose $1
  ClearErrors
  ${GetOptions} $0 "/while " $2
  ${IfNot} ${Errors}
    FileOpen $1 "$LOCALAPPDATA\running.txt" w
    FileClose $1
    ${While} ${FileExists} "$2"
      Sleep 100
    ${EndWhile}
  ${EndIf}
SectionEnd
