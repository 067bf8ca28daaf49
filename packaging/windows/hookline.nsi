; The Windows installer, for one user and without administrator rights. installer.py compiles it and hands in:
;   VERSION VERSION4 OUTPUT SIZE (KiB)   what is installed, and where the installer goes
;   FILES REMOVAL                               the generated lists of what to install and to remove again
;   ICON SIDE HEADER                            the pictures of the wizard
;
; Silent: hookline-VERSION-setup.exe /S [/STARTMENU=0] [/DESKTOP=1] [/AUTOSTART=1] [/LINKS=0] [/PATH=0] [/D=FOLDER]
; Ends with 0 when done, 1 when cancelled, 2 when a file could not be written, 3 when this Windows cannot run Hookline,
; 4 when Hookline is running.

; Debian's NSIS can make a 64-bit installer. The one for Windows cannot; its 32-bit ones install 64-bit programs as well.
!if /FileExists "${NSISDIR}/Stubs/lzma_solid-amd64-unicode"
  Target amd64-unicode
!else
  Target x86-unicode
!endif
Name "Hookline"
BrandingText "Hookline ${VERSION}"
OutFile "${OUTPUT}"
RequestExecutionLevel user
ManifestDPIAware true
ManifestSupportedOS Win10
SetCompressor /SOLID lzma
SetCompressorDictSize 64
; A file that cannot be written may be tried again, never skipped: half an update is no Hookline.
AllowSkipFiles off
ShowInstDetails nevershow
ShowUninstDetails nevershow

!define WINDOWS_KEY "Software\Microsoft\Windows\CurrentVersion"
!define UNINSTALL_KEY "${WINDOWS_KEY}\Uninstall\Hookline"
!define RUN_KEY "${WINDOWS_KEY}\Run"
!define RUN_APPROVED_KEY "${WINDOWS_KEY}\Explorer\StartupApproved\Run"
!define APP_PATH_KEY "${WINDOWS_KEY}\App Paths\hookline.exe"
!define LINKS_KEY "Software\Classes\hookline"
!define WINDOW "$INSTDIR\hooklinew.exe"
!define DATA "$LOCALAPPDATA\hookline"
!define CANNOT_RUN 3
!define IN_USE 4

InstallDir "$LOCALAPPDATA\Programs\Hookline"
InstallDirRegKey HKCU "${UNINSTALL_KEY}" "InstallLocation"

VIProductVersion "${VERSION4}"
VIAddVersionKey "ProductName" "Hookline"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "Hookline ${VERSION} Setup"
VIAddVersionKey "CompanyName" "The Hookline authors"
VIAddVersionKey "LegalCopyright" "MIT License"

!include MUI2.nsh
!include nsDialogs.nsh
!include FileFunc.nsh
!include Integration.nsh
!include WinVer.nsh
!include x64.nsh
!insertmacro GetParameters
!insertmacro GetOptions

; Where the version lies that this one replaces; empty when there is none.
Var Old
; What the last page says.
Var Ready
Var DeleteData
Var KeepSettings

!include user_path.nsh
!include closed.nsh
!include options.nsh

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${SIDE}"
!define MUI_WELCOMEFINISHPAGE_BITMAP_STRETCH AspectFitHeight
!define MUI_HEADERIMAGE
!define MUI_HEADERIMAGE_RIGHT
!define MUI_HEADERIMAGE_BITMAP "${HEADER}"
!define MUI_HEADERIMAGE_BITMAP_STRETCH AspectFitHeight
!define MUI_HEADERIMAGE_UNBITMAP "${HEADER}"
!define MUI_HEADERIMAGE_UNBITMAP_STRETCH AspectFitHeight

!define MUI_WELCOMEPAGE_TITLE "Install Hookline ${VERSION}"
!define MUI_WELCOMEPAGE_TEXT "Hookline catches webhooks on your desktop: every request kept exactly as it was sent, shown live, forwarded to your code.$\r$\n$\r$\nIt is installed for you alone and needs no administrator. What an earlier version has captured stays.$\r$\n$\r$\nClick Next to go on."
!insertmacro MUI_PAGE_WELCOME
!define MUI_PAGE_CUSTOMFUNCTION_PRE SkipWhenUpdating
!insertmacro MUI_PAGE_DIRECTORY
Page custom ShowOptions ReadOptions
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_TITLE "Hookline ${VERSION} is installed"
!define MUI_FINISHPAGE_TEXT "$Ready"
!define MUI_FINISHPAGE_RUN "${WINDOW}"
!define MUI_FINISHPAGE_RUN_TEXT "Start Hookline now"
!insertmacro MUI_PAGE_FINISH

UninstPage custom un.ShowRemoval un.ReadRemoval
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

Function .onInit
  ${IfNot} ${RunningX64}
  ${OrIfNot} ${AtLeastWin10}
    MessageBox MB_OK|MB_ICONSTOP "Hookline needs a 64-bit Windows 10 or newer. Nothing was installed." /SD IDOK
    SetErrorLevel ${CANNOT_RUN}
    Quit
  ${EndIf}
  ReadRegStr $Old HKCU "${UNINSTALL_KEY}" "InstallLocation"
  ${IfNot} ${FileExists} "$Old\uninstall.exe"
    StrCpy $Old ""
  ${EndIf}
  Call ChooseOptions
FunctionEnd

Function SkipWhenUpdating
  ${If} $Old != ""
    Abort
  ${EndIf}
FunctionEnd

Section
  ${If} $Old != ""
    StrCpy $0 "$Old"
    Call WaitUntilClosed
    DetailPrint "Removing the files of the version before"
    ; What the user chose stays as it is, unless Hookline moves to another folder.
    StrCpy $1 ""
    ${If} $Old == $INSTDIR
      StrCpy $1 "/UPDATE"
    ${EndIf}
    ; `_?=` keeps it from moving to a temporary folder and ending before it has done its work.
    ExecWait '"$Old\uninstall.exe" /S $1 _?=$Old'
    Delete "$Old\uninstall.exe"
    RMDir "$Old"
  ${EndIf}
  StrCpy $0 "$INSTDIR"
  Call WaitUntilClosed
  !include "${FILES}"
  SetOutPath "$INSTDIR"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  Call Register
  Call ApplyOptions
  StrCpy $Ready "Everything is in place."
  ${If} $OnPath = 1
    StrCpy $Ready "Terminals that you open from now on know the command hookline."
  ${EndIf}
SectionEnd

Function Register
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayName" "Hookline"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "Publisher" "The Hookline authors"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "URLInfoAbout" "https://hookline.example"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayIcon" "${WINDOW}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "EstimatedSize" ${SIZE}
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoRepair" 1
  WriteRegStr HKCU "${APP_PATH_KEY}" "" "${WINDOW}"
FunctionEnd

Function un.onInit
  ${GetParameters} $0
  StrCpy $DeleteData 0
  ClearErrors
  ${GetOptions} $0 "/DATA" $1
  ${IfNot} ${Errors}
    StrCpy $DeleteData 1
  ${EndIf}
  StrCpy $KeepSettings 0
  ClearErrors
  ${GetOptions} $0 "/UPDATE" $1
  ${IfNot} ${Errors}
    StrCpy $KeepSettings 1
  ${EndIf}
FunctionEnd

Var DeleteDataBox

Function un.ShowRemoval
  !insertmacro MUI_HEADER_TEXT "Uninstall Hookline" "Remove Hookline ${VERSION} from this computer."
  nsDialogs::Create 1018
  Pop $0
  ${NSD_CreateLabel} 0 0 100% 24u "Hookline will be removed from$\r$\n$INSTDIR"
  Pop $0
  ${If} ${FileExists} "${DATA}\*.*"
    ${NSD_CreateCheckBox} 0 36u 100% 12u "Also &delete captured requests and settings"
    Pop $DeleteDataBox
    ${NSD_CreateLabel} 12u 50u 100% 24u "They are in ${DATA}$\r$\nLeft alone, they are there again when you install Hookline once more."
    Pop $0
  ${EndIf}
  nsDialogs::Show
FunctionEnd

Function un.ReadRemoval
  ${If} $DeleteDataBox != ""
    ${NSD_GetState} $DeleteDataBox $DeleteData
  ${EndIf}
FunctionEnd

Section Uninstall
  StrCpy $0 "$INSTDIR"
  Call un.WaitUntilClosed
  ; Exactly what was installed: whatever else lies in this folder is not Hookline's to remove.
  !include "${REMOVAL}"
  ${If} $KeepSettings = 0
    Call un.Unregister
    Delete "$INSTDIR\uninstall.exe"
    RMDir "$INSTDIR"
    ${If} $DeleteData = 1
      Call un.RemoveData
    ${EndIf}
  ${EndIf}
SectionEnd

Function un.Unregister
  Delete "$SMPROGRAMS\Hookline.lnk"
  Delete "$DESKTOP\Hookline.lnk"
  ; Another copy of Hookline, such as a portable one, may have taken these over; options may have been added to ours.
  StrLen $2 '"${WINDOW}"'
  ReadRegStr $1 HKCU "${RUN_KEY}" "Hookline"
  StrCpy $1 $1 $2
  ${If} $1 == '"${WINDOW}"'
    DeleteRegValue HKCU "${RUN_KEY}" "Hookline"
    DeleteRegValue HKCU "${RUN_APPROVED_KEY}" "Hookline"
  ${EndIf}
  ReadRegStr $1 HKCU "${LINKS_KEY}\shell\open\command" ""
  StrCpy $1 $1 $2
  ${If} $1 == '"${WINDOW}"'
    DeleteRegKey HKCU "${LINKS_KEY}"
  ${EndIf}
  DeleteRegKey HKCU "${APP_PATH_KEY}"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  Call un.RemoveFromPath
  ${NotifyShell_AssocChanged}
FunctionEnd

Function un.RemoveData
  RMDir /r "${DATA}"
  ${If} ${FileExists} "${DATA}\*.*"
    MessageBox MB_OK|MB_ICONEXCLAMATION "Some files in ${DATA} are in use and were left. Delete them by hand when nothing uses them." /SD IDOK
  ${EndIf}
FunctionEnd
