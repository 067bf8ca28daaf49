; The choices: what a first installation proposes, what an update finds, what the command line says, the page, and doing it.

Var InMenu
Var OnDesktop
Var AtSignIn
Var ForLinks
Var OnPath
Var InMenuBox
Var OnDesktopBox
Var AtSignInBox
Var ForLinksBox
Var OnPathBox

; A choice given as /NAME=0 or /NAME=1; anything else changes nothing.
!macro FromCommandLine name variable
  ClearErrors
  ${GetOptions} $R9 "/${name}=" $R8
  ${IfNot} ${Errors}
    ${If} $R8 == 0
    ${OrIf} $R8 == 1
      StrCpy ${variable} $R8
    ${EndIf}
  ${EndIf}
!macroend

!macro IsFile file variable
  StrCpy ${variable} 0
  ${If} ${FileExists} "${file}"
    StrCpy ${variable} 1
  ${EndIf}
!macroend

!macro IsValue key name variable
  StrCpy ${variable} 0
  ReadRegStr $R8 HKCU "${key}" "${name}"
  ${If} $R8 != ""
    StrCpy ${variable} 1
  ${EndIf}
!macroend

Function ChooseOptions
  ${If} $Old == ""
    StrCpy $InMenu 1
    StrCpy $OnDesktop 0
    StrCpy $AtSignIn 0
    StrCpy $ForLinks 1
    StrCpy $OnPath 1
  ${Else}
    !insertmacro IsFile "$SMPROGRAMS\Hookline.lnk" $InMenu
    !insertmacro IsFile "$DESKTOP\Hookline.lnk" $OnDesktop
    !insertmacro IsValue "${RUN_KEY}" "Hookline" $AtSignIn
    !insertmacro IsValue "${LINKS_KEY}\shell\open\command" "" $ForLinks
    Push $INSTDIR
    StrCpy $INSTDIR $Old
    Call IsOnPath
    StrCpy $OnPath $0
    Pop $INSTDIR
  ${EndIf}
  ${GetParameters} $R9
  !insertmacro FromCommandLine "STARTMENU" $InMenu
  !insertmacro FromCommandLine "DESKTOP" $OnDesktop
  !insertmacro FromCommandLine "AUTOSTART" $AtSignIn
  !insertmacro FromCommandLine "LINKS" $ForLinks
  !insertmacro FromCommandLine "PATH" $OnPath
FunctionEnd

!macro Box top text variable box
  ${NSD_CreateCheckBox} 0 ${top} 100% 12u "${text}"
  Pop ${box}
  ${NSD_SetState} ${box} ${variable}
!macroend

Function ShowOptions
  !insertmacro MUI_HEADER_TEXT "Choices" "How would you like to start Hookline?"
  nsDialogs::Create 1018
  Pop $0
  !insertmacro Box 0u "Show Hookline in the Start &menu" $InMenu $InMenuBox
  !insertmacro Box 18u "Put a shortcut on the &desktop" $OnDesktop $OnDesktopBox
  !insertmacro Box 36u "Start Hookline &when I sign in, out of the way" $AtSignIn $AtSignInBox
  !insertmacro Box 54u "Open hookline: &links in Hookline" $ForLinks $ForLinksBox
  !insertmacro Box 72u "Make the command hookline known to &terminals (adds its folder to your PATH)" $OnPath $OnPathBox
  ${NSD_CreateLabel} 0 100u 100% 24u "You can change each of these by running this setup again."
  Pop $0
  nsDialogs::Show
FunctionEnd

Function ReadOptions
  ${NSD_GetState} $InMenuBox $InMenu
  ${NSD_GetState} $OnDesktopBox $OnDesktop
  ${NSD_GetState} $AtSignInBox $AtSignIn
  ${NSD_GetState} $ForLinksBox $ForLinks
  ${NSD_GetState} $OnPathBox $OnPath
FunctionEnd

!macro ApplyShortcut file variable
  ${If} ${variable} = 1
    CreateShortcut "${file}" "${WINDOW}" "" "${WINDOW}" 0 SW_SHOWNORMAL "" "Catch webhooks on your desktop"
  ${Else}
    Delete "${file}"
  ${EndIf}
!macroend

Function ApplyOptions
  ; A shortcut starts the program in the folder that is the output path now.
  SetOutPath "$PROFILE"
  !insertmacro ApplyShortcut "$SMPROGRAMS\Hookline.lnk" $InMenu
  !insertmacro ApplyShortcut "$DESKTOP\Hookline.lnk" $OnDesktop
  ${If} $AtSignIn = 1
    ReadRegStr $R8 HKCU "${RUN_KEY}" "Hookline"
    ; What is there may have been given options. Otherwise the same value that the switch in Hookline's settings writes.
    ${If} $R8 == ""
      WriteRegStr HKCU "${RUN_KEY}" "Hookline" '"${WINDOW}" --minimized'
    ${EndIf}
  ${Else}
    DeleteRegValue HKCU "${RUN_KEY}" "Hookline"
  ${EndIf}
  ${If} $ForLinks = 1
    WriteRegStr HKCU "${LINKS_KEY}" "" "URL:Hookline"
    WriteRegStr HKCU "${LINKS_KEY}" "URL Protocol" ""
    WriteRegStr HKCU "${LINKS_KEY}\DefaultIcon" "" '"${WINDOW}",0'
    ; Behind `--` nothing is an option, whatever quotes a program hands on in its link.
    WriteRegStr HKCU "${LINKS_KEY}\shell\open\command" "" '"${WINDOW}" -- "%1"'
  ${Else}
    DeleteRegKey HKCU "${LINKS_KEY}"
  ${EndIf}
  ${If} $OnPath = 1
    Call AddToPath
  ${Else}
    Call RemoveFromPath
  ${EndIf}
  ${NotifyShell_AssocChanged}
FunctionEnd
