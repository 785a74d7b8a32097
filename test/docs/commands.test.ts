import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

const text = readFileSync(new URL('../../docs/commands.md', import.meta.url), 'utf8');
const cli = { print: () => undefined, action: () => async () => undefined };

const sectionOf = (heading: string) =>
  text.split(/^(?=## )/m).find(section => section.split('\n', 1)[0] === `## ${heading}`) ?? '';

const optionsOf = (command: Command): string[] =>
  [command, ...command.commands].flatMap(each => each.options.map(option => option.long ?? option.flags));

test('docs/commands.md describes every command with its subcommands and options, and none that does not exist', async () => {
  const { commands } = await createProgram(cli, undefined);
  const headings = [...text.matchAll(/^## sluice (.+)$/gm)].map(match => match[1] as string);
  expect(new Set(headings)).toEqual(new Set(commands.map(command => command.name())));
  const general = [...sectionOf('Options of every command').matchAll(/--[a-z-]+/g)].map(([name]) => name);
  for (const command of commands) {
    const section = sectionOf(`sluice ${command.name()}`);
    for (const sub of command.commands) expect(section).toContain(`\`${command.name()} ${sub.name()}`);
    const options = optionsOf(command);
    const described = [...section.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([name]) => name);
    expect(options.filter(option => !described.includes(option) && !general.includes(option))).toEqual([]);
    // Options of other commands may be mentioned, but not unknown ones.
    const all = commands.flatMap(optionsOf);
    expect(described.filter(option => !all.includes(option) && !general.includes(option))).toEqual([]);
  }
});
