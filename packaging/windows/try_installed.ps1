# Installs the installer in dist\ silently, tries the installed program, and uninstalls it. For a Windows to spare.
$ErrorActionPreference = 'Stop'
$key = 'HKCU:\Software\Microsoft\Windows\CurrentVersion\Uninstall\Hookline'
function Invoke-Silently($Program, $Words) {
  $done = Start-Process -FilePath $Program -ArgumentList $Words -Wait -PassThru
  if ($done.ExitCode) { throw "$Program $Words ended with $($done.ExitCode)" }
}
Invoke-Silently (Get-Item $PSScriptRoot\..\..\dist\hookline-*-setup.exe).FullName '/S'
$folder = (Get-ItemProperty $key).InstallLocation
& "$folder\hookline.exe" selftest
if ($LASTEXITCODE) { throw "the installed program's selftest ended with $LASTEXITCODE" }
Invoke-Silently "$folder\uninstall.exe" "/S _?=$folder"
if (Test-Path $key) { throw 'Hookline is still among the installed programs' }
if (Test-Path "$folder\hookline.exe") { throw "$folder still holds the program" }
