import { dayOf } from '../data/calendar.ts';
import type { Data } from '../data/data.ts';
import type { Amount } from '../data/rows.ts';
import type { Variants } from '../variants/variants.ts';

const DECIMALS = 20;

/** The financial summary of a month, or of the whole year if `month` is undefined. Sums are exact. */
export function financialReport(data: Data, year: number, month: number | undefined, rules: Variants['report']) {
  const fromDay = dayOf(`${year}-${pad(month ?? 1)}-01`);
  const toDay =
    month === undefined || month === 12 ? dayOf(`${year + 1}-01-01`) - 1 : dayOf(`${year}-${pad(month + 1)}-01`) - 1;
  const isCounted = (amount: Amount, description: string | null) =>
    rules !== 'other-rules' || (Number(amount) > 0 && description !== 'Cash sale');

  const sumType = (state: string) => {
    const sum = createSum();
    for (const position of data.transactions.select({ state, fromDay, toDay })) {
      const { amount, description } = data.transactions.at(position);
      if (isCounted(amount, description)) sum.add(amount);
    }
    return sum.total();
  };
  const sumOpen = (state: string) => {
    const sum = createSum();
    for (const position of data.invoices.select({ state, fromDay, toDay })) sum.add(data.invoices.at(position).amount);
    return sum.total();
  };

  const income = sumType('Income');
  const expenses = sumType('Expense');
  return {
    income: unscaled(income),
    expenses: unscaled(expenses),
    profit: unscaled(income - expenses),
    outstanding_invoices: unscaled(sumOpen('Unpaid') + sumOpen('Partially Paid')),
  };
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}

/** Most amounts are whole cents, which a double adds exactly. */
function createSum() {
  let cents = 0;
  let others = 0n;
  return {
    add(amount: Amount) {
      const its = typeof amount === 'number' ? Math.round(amount * 100) : Number.NaN;
      if (its / 100 === amount && Number.isSafeInteger(cents + its)) cents += its;
      else others += scaled(amount);
    },
    total: () => others + BigInt(cents) * 10n ** BigInt(DECIMALS - 2),
  };
}

function scaled(amount: Amount): bigint {
  let text = String(amount);
  // From 1e21 on, toFixed writes an exponent too.
  if (text.includes('e'))
    text = Math.abs(Number(amount)) < 1 ? Number(amount).toFixed(DECIMALS) : String(BigInt(Number(amount)));
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const value = BigInt(whole + fraction.slice(0, DECIMALS).padEnd(DECIMALS, '0'));
  return text.startsWith('-') ? -value : value;
}

/** A number if a double represents it exactly, otherwise its decimal text. */
function unscaled(value: bigint): Amount {
  const digits = String(value < 0n ? -value : value).padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  const text = (value < 0n ? '-' : '') + digits.slice(0, -DECIMALS) + (fraction === '' ? '' : `.${fraction}`);
  return String(Number(text)) === text ? Number(text) : text;
}
