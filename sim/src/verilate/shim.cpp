// The bridge between one Verilated class and the Rust side (sim/src/verilate/library.rs).
//
// Before this text stand: #include of the class, TRIB_ABI, TRIB_TRACE, TRIB_CLOCK (the clock
// input, if there is one) and TRIB_PORTS (the table of ports).

#include <cstdint>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "verilated.h"
#if TRIB_TRACE
#include "verilated_vcd_c.h"
#endif

#define TRIB_EXPORT extern "C" __attribute__((visibility("default")))

// Verilator's own versions of these end the process.
void vl_finish(const char*, int, const char*) VL_MT_UNSAFE {
    Verilated::threadContextp()->gotFinish(true);
}

void vl_fatal(const char* file, int line, const char* scope, const char* message) VL_MT_UNSAFE {
    std::ostringstream text;
    if (file && *file) text << file << ':' << line << ": ";
    text << (message ? message : "stopped");
    if (scope && *scope) text << " (in " << scope << ')';
    throw std::runtime_error(text.str());
}

namespace {

typedef void (*TraceWrite)(void* receiver, const char* text, size_t length);

#if TRIB_TRACE
// Hands the text of the waveform to Rust instead of to a file.
class Sink final : public VerilatedVcdFile {
    TraceWrite m_write;
    void* m_receiver;

public:
    Sink(TraceWrite write, void* receiver)
        : m_write(write), m_receiver(receiver) {}
    bool open(const std::string&) override { return true; }
    void close() override {}
    ssize_t write(const char* text, ssize_t length) override {
        m_write(m_receiver, text, static_cast<size_t>(length));
        return length;
    }
};
#endif

struct Instance {
    VerilatedContext context;
    std::unique_ptr<Vtrib> top;
    std::string error;
    uint64_t half_period = 2500;
#if TRIB_TRACE
    // In this order: the dump is destroyed before the sink it writes to.
    std::unique_ptr<Sink> sink;
    std::unique_ptr<VerilatedVcdC> dump;
#endif

    void step() {
        top->eval();
#if TRIB_TRACE
        if (dump) dump->dump(context.time());
#endif
    }
};

// Runs `action`; an exception becomes an error text and a non-zero result.
template <typename Action>
int guarded(Instance* self, Action action) {
    try {
        Verilated::threadContextp(&self->context);
        action();
        return 0;
    } catch (const std::exception& error) {
        self->error = error.what();
    } catch (...) {
        self->error = "unknown exception";
    }
    return 1;
}

struct PortInfo {
    const char* name;
    uint32_t width;
    uint32_t is_output;
};

#define TRIB_INFO(name, width, is_output, member) {name, width, is_output},
const PortInfo PORTS[] = {TRIB_PORTS(TRIB_INFO){nullptr, 0, 0}};

}  // namespace

TRIB_EXPORT uint32_t trib_abi() { return TRIB_ABI; }

TRIB_EXPORT const PortInfo* trib_ports() { return PORTS; }

// A new model; never null unless memory is exhausted. Check trib_error before use.
TRIB_EXPORT Instance* trib_new(uint64_t seed, uint32_t random_init) {
    Instance* self = new (std::nothrow) Instance;
    if (!self) return nullptr;
    guarded(self, [&] {
        self->context.randReset(random_init ? 2 : 0);
        // Verilator takes a positive 31-bit seed, and 0 as "by the clock".
        self->context.randSeed(static_cast<int>((seed ^ (seed >> 31)) % 0x7fffffffULL) + 1);
        self->context.timeunit(-9);
        self->context.timeprecision(-12);
        self->context.quiet(true);
#if TRIB_TRACE
        self->context.traceEverOn(true);
#endif
        self->top.reset(new Vtrib{&self->context, "top"});
    });
    return self;
}

TRIB_EXPORT void trib_delete(Instance* self) {
    if (!self) return;
    guarded(self, [&] {
#if TRIB_TRACE
        if (self->dump) self->dump->close();
#endif
        if (self->top) self->top->final();
    });
    delete self;
}

// The addresses of all ports, in the order of trib_ports.
TRIB_EXPORT void trib_addresses(Instance* self, void** addresses) {
#define TRIB_ADDRESS(name, width, is_output, member) *addresses++ = &self->top->member;
    TRIB_PORTS(TRIB_ADDRESS)
}

// The text of the last failure, or "".
TRIB_EXPORT const char* trib_error(Instance* self) { return self->error.c_str(); }

TRIB_EXPORT uint64_t trib_time(Instance* self) { return self->context.time(); }

TRIB_EXPORT int trib_finished(Instance* self) { return self->context.gotFinish(); }

TRIB_EXPORT void trib_half_period(Instance* self, uint64_t picoseconds) {
    self->half_period = picoseconds;
}

// Lets combinational logic settle. Time stands still, so a waveform does not show it.
TRIB_EXPORT int trib_eval(Instance* self) {
    return guarded(self, [&] { self->top->eval(); });
}

// `count` clocks: low, settle, half a period; high, settle, half a period.
TRIB_EXPORT int trib_clock(Instance* self, uint64_t count) {
    return guarded(self, [&] {
#ifdef TRIB_CLOCK
        for (uint64_t n = 0; n < count; ++n) {
            self->top->TRIB_CLOCK = 0;
            self->step();
            self->context.timeInc(self->half_period);
            self->top->TRIB_CLOCK = 1;
            self->step();
            self->context.timeInc(self->half_period);
        }
#else
        (void)count;
        throw std::runtime_error("no clock input");
#endif
    });
}

TRIB_EXPORT int trib_trace_open(Instance* self, TraceWrite write, void* receiver) {
    return guarded(self, [&] {
#if TRIB_TRACE
        self->sink.reset(new Sink(write, receiver));
        self->dump.reset(new VerilatedVcdC(self->sink.get()));
        self->top->trace(self->dump.get(), 99);
        self->dump->open("trace");
#else
        (void)write;
        (void)receiver;
        throw std::runtime_error("built without tracing");
#endif
    });
}

TRIB_EXPORT int trib_trace_close(Instance* self) {
    return guarded(self, [&] {
#if TRIB_TRACE
        if (self->dump) self->dump->close();
        self->dump.reset();
        self->sink.reset();
#endif
    });
}
