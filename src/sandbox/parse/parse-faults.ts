import { SluiceError } from '../../errors.ts';
import type { FaultRates, PlannedFault } from '../faults/choose-fault.ts';
import { type Fault, faultKinds } from '../faults/fault-kinds.ts';
import { pairsOf } from './name-values.ts';

/** Reads `json-500=0.05,hang=0.01`; what is wrong is a usage error that names what is expected. */
export function parseFaultRates(text: string): FaultRates {
  const rates: Partial<Record<Fault, number>> = {};
  for (const [name, value] of pairsOf(text)) {
    const fault = knownFault(name, 'There');
    if (!/^(0|1|0?\.\d+|1\.0+)$/.test(value)) {
      throw new SluiceError('usage', `The fault "${name}" has no probability "${value}".`, {
        next: `Expected: a number from 0 to 1, e.g. ${name}=0.05.`,
      });
    }
    rates[fault] = Number(value);
  }
  const sum = Object.values(rates).reduce((all, rate) => all + rate, 0);
  // A sum of decimals such as 0.1 and 0.2 may come out a little too great.
  if (sum > 1 + 1e-9) {
    throw new SluiceError('usage', `The probabilities of all faults come to ${sum.toFixed(2)}.`, {
      next: 'A request meets one fault at most: expected is a sum of at most 1.',
    });
  }
  return rates;
}

/** Reads lines of `at-request fault [count] [path]`; empty ones and those that begin with # say nothing. */
export function parseFaultPlan(text: string): PlannedFault[] {
  return text.split('\n').flatMap((raw, index) => {
    const line = raw.trim();
    return line === '' || line.startsWith('#') ? [] : [parseLine(line, `Line ${index + 1}`)];
  });
}

const LINE = /^(\S+)(?:\s+(\S+))?(?:\s+(\d\S*))?(?:\s+(\/\S*))?$/;

function parseLine(line: string, place: string): PlannedFault {
  const wrong = (what: string) =>
    new SluiceError('usage', `${place}: ${what}`, {
      next: 'Expected: at-request fault [count] [path], e.g. 25 json-500 2 /api/v2/invoices',
    });
  const [, at = '', name, count = '1', path = ''] = LINE.exec(line) ?? [];
  if (at === '' || name === undefined) throw wrong(`"${line}" is no fault at a request.`);
  for (const number of [at, count])
    if (!/^[1-9]\d{0,8}$/.test(number)) throw wrong(`"${number}" is no whole number from 1.`);
  return { at: Number(at), fault: knownFault(name, `${place}: there`), count: Number(count), path };
}

function knownFault(name: string, beginning: string): Fault {
  if (Object.hasOwn(faultKinds, name)) return name as Fault;
  throw new SluiceError('usage', `${beginning} is no fault "${name}".`, {
    next: `Faults: ${Object.keys(faultKinds).join(', ')}.`,
  });
}
