import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import type { Cli } from '../../src/cli/session/session.ts';
import {
  acceptAddress,
  acceptDeletes,
  acceptLosses,
  acceptRestore,
  discard,
  MIGRATE,
  readAgain,
} from '../../src/next-steps.ts';

/** Accepts every command, and carries none of them out. */
const cli: Cli = { print: () => undefined, action: () => async () => undefined };

test.each(['main', 'graz'])(
  'the command line accepts each command that a message about source %s names',
  async source => {
    const named = [
      acceptDeletes('invoices', 40, source),
      acceptLosses('invoices', ['amount', 'items'], source),
      readAgain('invoices', source),
      discard('invoices', source),
      acceptAddress(source),
      acceptRestore(source),
      MIGRATE,
    ].flatMap(text => text.split(', then '));
    for (const command of named) {
      const [program, ...args] = command.split(' ');
      expect(program).toBe('sluice');
      const line = await createProgram(cli, args[0]);
      await line.parseAsync(args, { from: 'user' });
      expect(line.args[0]).toBe(args[0]);
      const { source: given } = line.commands[0]?.opts<{ source?: string }>() ?? {};
      if (args[0] !== 'migrate') expect(given).toBe(source === 'main' ? undefined : source);
    }
  },
);
