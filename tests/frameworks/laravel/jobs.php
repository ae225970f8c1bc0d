<?php

// What jobs carry and throw.

namespace Shop;

use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldBeEncrypted;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Queue\InteractsWithQueue;

class PaymentDeclined extends \RuntimeException
{
}

function hidden(string $kind): array
{
    return match ($kind) {
        'unicode' => ['naïve' => 'ключ 💥', 'rtl' => 'שלום', 'escape' => "\e[31mred"],
        'big' => ['lines' => array_map(fn ($n) => ['n' => $n, 'text' => str_repeat('x', 30)], range(0, 799))],
        default => [],
    };
}

/** Throws as jobs of this kind do. */
function fail(string $kind, string $marker): void
{
    switch ($kind) {
        case 'multiline':
            throw new PaymentDeclined("first line of $marker\nsecond line\n\n    an indented one");
        case 'empty':
            throw new PaymentDeclined('');
        case 'unicode':
            throw new \TypeError("ошибка $marker — 失敗 💥 \x07bell");
        case 'big':
            throw new \RuntimeException("$marker " . str_repeat('too much ', 500));
        case 'cause':
            throw new \LogicException("outer of $marker", 0, new PaymentDeclined("inner of $marker"));
        default:
            throw new PaymentDeclined("declined: $marker");
    }
}

class Charge implements ShouldQueue
{
    use InteractsWithQueue;
    use Queueable;

    /** The markers of those that ran in this process. */
    public static array $ran = [];

    public int $tries;
    public int $backoff = 0;
    private array $details;
    protected string $note = 'private and protected properties are written with a null byte';

    public function __construct(public string $kind, public string $marker)
    {
        $this->tries = $kind === 'twice' ? 2 : 1;
        $this->details = ['amount' => '12.50'] + hidden($kind);
    }

    /** Throws where the world is broken, and says in either case what happened. */
    public function handle(): void
    {
        self::$ran[$this->marker] = true;
        if (!BROKEN) {
            say(['ran' => $this->marker, 'kind' => $this->kind, 'ok' => true]);
            return;
        }
        try {
            if ($this->kind === 'manual') {
                $message = "given up by hand: {$this->marker}";
                say(['ran' => $this->marker, 'kind' => $this->kind, 'ok' => false, 'class' => null, 'message' => $message]);
                $this->fail(new \Illuminate\Queue\ManuallyFailedException($message));
                return;
            }
            fail($this->kind, $this->marker);
        } catch (\Throwable $error) {
            $told = ['class' => $error::class, 'message' => $error->getMessage()];
            say(['ran' => $this->marker, 'kind' => $this->kind, 'ok' => false] + $told);
            throw $error;
        }
    }
}

/** Its payload tells its class and nothing else. */
class Secret extends Charge implements ShouldBeEncrypted
{
}

/** May be tried until an instant that is past when it is dead; the framework's retry asks for another one. */
class Hurried extends Charge
{
    public function handle(): void
    {
        // Some tries in its second, and not hundreds.
        usleep(BROKEN ? 200_000 : 0);
        parent::handle();
    }

    public function retryUntil(): \DateTimeInterface
    {
        return VERB === 'enqueue' ? now()->addSecond() : now()->addMinutes(5);
    }
}
