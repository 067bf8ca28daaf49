# Completion of hookline for PowerShell.
Register-ArgumentCompleter -Native -CommandName hookline -ScriptBlock {
  param($word, $command, $cursor)
  $texts = 'StringConstantExpressionAst', 'ExpandableStringExpressionAst'
  $words = @($command.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object {
    if ($texts -contains $_.GetType().Name) { $_.Value } else { "$_" }
  })
  # Before version 7.3 a program does not get a double quote as it is.
  $words = @($words) + $word.Trim("'`"") | ForEach-Object { $_.Replace('"', '') }
  $line = ($words | ForEach-Object { "'" + $_.Replace("'", "'\''") + "'" }) -join ' '
  $code = Get-Variable LASTEXITCODE -Scope Global -ValueOnly -ErrorAction Ignore
  & $words[0] --complete $line 2>$null | ForEach-Object {
    $name, $meaning = $_ -split "`t", 2
    if ($name -notlike ':*') {
      if (-not $meaning) { $meaning = $name }
      $typed = if ($name -match "[^\w./:=+-]") { "'" + $name.Replace("'", "''") + "'" } else { $name }
      [System.Management.Automation.CompletionResult]::new($typed, $name, 'ParameterValue', $meaning)
    }
  }
  $global:LASTEXITCODE = $code
}
